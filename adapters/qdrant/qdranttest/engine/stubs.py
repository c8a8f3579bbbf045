"""The gRPC stubs that qdrant-client ships, without importing the rest of that package and what it depends on."""
import importlib.util
import sys
import types


def load():
    root = importlib.util.find_spec("qdrant_client").submodule_search_locations[0]
    package = types.ModuleType("qdrant_client")
    package.__path__ = [root]
    sys.modules["qdrant_client"] = package
    from qdrant_client import grpc as stubs

    return stubs


pb = load()
