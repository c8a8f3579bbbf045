#!/usr/bin/env bash
# Makes the Go code of the protocol: adapters/plugin/proto/v1/generate.sh
# It needs a Python that has grpcio-tools==1.85.1, whose protoc is the compiler; the generators are pinned in .tools/go.mod.
# PYTHON names another interpreter than python3.
set -euo pipefail
cd "$(dirname "$0")/../../../.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -modfile=.tools/go.mod -o "$bin/" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
PATH="$bin:$PATH" "${PYTHON:-python3}" -m grpc_tools.protoc -I adapters/plugin/proto \
  --go_out=adapters/plugin/proto --go_opt=paths=source_relative \
  --go-grpc_out=adapters/plugin/proto --go-grpc_opt=paths=source_relative \
  v1/plugin.proto
