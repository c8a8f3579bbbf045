"""Vectors between the wire and the engine."""
import qdrant_edge as engine

from errors import argument, invalid, unimplemented
from stubs import pb

BM25 = "qdrant/bm25"


def sparse(indices, values):
    # The engine takes these unchecked; a server validates them in its API layer.
    if len(indices) != len(values):
        raise invalid("sparse_vector.values: must be the same length as indices")
    if len(set(indices)) != len(indices):
        raise invalid("sparse_vector.indices: must be unique")
    return engine.SparseVector(list(indices), list(values))


def bm25(document, embed):
    """The vector of a Document of the model that a server encodes by itself."""
    if document.model.lower() != BM25:
        raise argument("InferenceService is not initialized. Please check if it was properly configured and initialized during startup.")
    language = document.options["language"].string_value if "language" in document.options else None
    model = engine.Bm25(engine.Bm25Config(language=language))
    return getattr(model, embed)(document.text)


def from_stored(vector):
    """A Vector, as it is upserted."""
    kind = vector.WhichOneof("vector")
    if kind == "dense":
        return list(vector.dense.data)
    if kind == "sparse":
        return sparse(vector.sparse.indices, vector.sparse.values)
    if kind == "multi_dense":
        return [list(dense.data) for dense in vector.multi_dense.vectors]
    if kind == "document":
        return bm25(vector.document, "embed_document")
    if kind is None:  # the deprecated flat form that older clients send
        if vector.HasField("indices"):
            return sparse(vector.indices.data, vector.data)
        if vector.HasField("vectors_count"):
            flat, size = list(vector.data), len(vector.data) // max(1, vector.vectors_count)
            return [flat[i : i + size] for i in range(0, len(flat), size)]
        return list(vector.data)
    raise unimplemented("a vector of kind %s" % kind)


def from_query(vector):
    """A VectorInput of a query, ids apart."""
    kind = vector.WhichOneof("variant")
    if kind == "dense":
        return list(vector.dense.data)
    if kind == "sparse":
        return sparse(vector.sparse.indices, vector.sparse.values)
    if kind == "multi_dense":
        return [list(dense.data) for dense in vector.multi_dense.vectors]
    if kind == "document":
        return bm25(vector.document, "embed_query")
    raise unimplemented("a query vector of kind %s" % kind)


def from_point(vectors):
    kind = vectors.WhichOneof("vectors_options")
    if kind == "vector":
        return from_stored(vectors.vector)
    if kind == "vectors":
        return {name: from_stored(vector) for name, vector in vectors.vectors.vectors.items()}
    raise argument("Expected some vectors")


def into_output(vector, wire, out):
    """Writes a vector into the VectorOutput out. The wire form "data" is that of servers up to 1.16."""
    if not isinstance(vector, (list, tuple)):
        indices, values = list(vector.indices), list(vector.values)
        if wire == "data":
            out.data.extend(values)
            out.indices.data.extend(indices)
        else:
            out.sparse.indices.extend(indices)
            out.sparse.values.extend(values)
    elif vector and isinstance(vector[0], (list, tuple)):
        if wire == "data":
            out.data.extend(x for row in vector for x in row)
            out.vectors_count = len(vector)
        else:
            out.multi_dense.SetInParent()
            for row in vector:
                out.multi_dense.vectors.add(data=row)
    elif wire == "data":
        out.data.extend(vector)
    else:
        out.dense.data.extend(vector)


def into_point(vectors, wire, out):
    """Writes the vectors of a point, one or by name, into the VectorsOutput out."""
    if isinstance(vectors, dict) and set(vectors) != {""}:
        out.vectors.SetInParent()
        for name, vector in vectors.items():
            into_output(vector, wire, out.vectors.vectors[name])
    else:
        into_output(vectors[""] if isinstance(vectors, dict) else vectors, wire, out.vector)
