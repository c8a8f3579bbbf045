"""Fills two new collections of Milvus with what `culprit plugin fixture` prints, for `culprit plugin test`. This is a program that writes:
it makes its collections, and fails where they are there already.

    culprit plugin fixture --allow milvus_fixture.allow.json | python3 milvus_fixture.py http://localhost:19530 fixture
    culprit plugin test python3 --settings milvus_fixture.settings.json --allow milvus_fixture.allow.json \\
        --env MILVUS_TOKEN -- milvus_store.py

MILVUS_TOKEN holds the token. Take token_env out of the settings where the server asks for none.
"""

import json
import os
import sys
from typing import Any

from pymilvus import DataType, Function, FunctionType, MilvusClient

DIMENSIONS = 24
TEXTS = ("source", "revision", "embed_model", "indexed_at", "updated_at")


def create(client: MilvusClient, name: str) -> None:
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=512)
    schema.add_field("text", DataType.VARCHAR, max_length=65535, enable_analyzer=True)
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=DIMENSIONS)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_field("access", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=16, max_length=256, nullable=True)
    for field in TEXTS:
        schema.add_field(field, DataType.VARCHAR, max_length=512, nullable=True)
    schema.add_function(Function(name="bm25", function_type=FunctionType.BM25, input_field_names=["text"], output_field_names=["sparse"]))
    indexes = client.prepare_index_params()
    indexes.add_index(field_name="dense", index_type="FLAT", metric_type="COSINE")
    indexes.add_index(field_name="sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    client.create_collection(name, schema=schema, index_params=indexes, consistency_level="Strong")


def row(item: dict[str, Any]) -> dict[str, Any]:
    """Metadata become dynamic fields; a list of one value is the value."""
    fields: dict[str, Any] = {field: item.get(field) for field in ("id", "text", "access", *TEXTS)}
    fields["dense"] = item["vector"]
    for name, values in item.get("metadata", {}).items():
        fields[name] = values[0] if len(values) == 1 else values
    return fields


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: milvus_fixture.py ADDRESS COLLECTION < fixture.jsonl")
    address, main = sys.argv[1:]
    client = MilvusClient(address, token=os.environ.get("MILVUS_TOKEN", ""))
    items = [json.loads(line) for line in sys.stdin]
    for name, belongs in ((main, ""), ("other", "other")):
        create(client, name)
        client.insert(name, [row(item) for item in items if item.get("collection", "") == belongs])
