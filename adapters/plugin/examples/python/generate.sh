#!/usr/bin/env bash
# Makes the Python code of the protocol: adapters/plugin/examples/python/generate.sh
# It needs a Python that has grpcio-tools==1.85.1; PYTHON names another interpreter than python3.
set -euo pipefail
cd "$(dirname "$0")"
"${PYTHON:-python3}" -m grpc_tools.protoc -I ../../proto/v1 --python_out=. --pyi_out=. --grpc_python_out=. plugin.proto
