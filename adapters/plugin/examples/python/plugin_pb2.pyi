import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_PERMANENT: _ClassVar[Kind]
    KIND_TRANSIENT: _ClassVar[Kind]
    KIND_RATE_LIMITED: _ClassVar[Kind]
    KIND_UNAUTHORISED: _ClassVar[Kind]
    KIND_NOT_FOUND: _ClassVar[Kind]
    KIND_UNSUPPORTED: _ClassVar[Kind]
    KIND_INVALID: _ClassVar[Kind]
    KIND_TOO_LONG: _ClassVar[Kind]
    KIND_TIMEOUT: _ClassVar[Kind]
    KIND_CANCELED: _ClassVar[Kind]
KIND_UNSPECIFIED: Kind
KIND_PERMANENT: Kind
KIND_TRANSIENT: Kind
KIND_RATE_LIMITED: Kind
KIND_UNAUTHORISED: Kind
KIND_NOT_FOUND: Kind
KIND_UNSUPPORTED: Kind
KIND_INVALID: Kind
KIND_TOO_LONG: Kind
KIND_TIMEOUT: Kind
KIND_CANCELED: Kind

class Error(_message.Message):
    __slots__ = ("adapter", "op", "kind", "retry_after", "message", "quota", "closed")
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    adapter: str
    op: str
    kind: Kind
    retry_after: _duration_pb2.Duration
    message: str
    quota: Quota
    closed: bool
    def __init__(self, adapter: _Optional[str] = ..., op: _Optional[str] = ..., kind: _Optional[_Union[Kind, str]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., message: _Optional[str] = ..., quota: _Optional[_Union[Quota, _Mapping]] = ..., closed: _Optional[bool] = ...) -> None: ...

class InfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InfoResponse(_message.Message):
    __slots__ = ("name", "version", "protocol_version", "roles")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    protocol_version: int
    roles: _containers.RepeatedCompositeFieldContainer[Role]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., protocol_version: _Optional[int] = ..., roles: _Optional[_Iterable[_Union[Role, _Mapping]]] = ...) -> None: ...

class Role(_message.Message):
    __slots__ = ("name", "settings_schema")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    name: str
    settings_schema: bytes
    def __init__(self, name: _Optional[str] = ..., settings_schema: _Optional[bytes] = ...) -> None: ...

class OpenRequest(_message.Message):
    __slots__ = ("settings", "dir", "cache_dir")
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    DIR_FIELD_NUMBER: _ClassVar[int]
    CACHE_DIR_FIELD_NUMBER: _ClassVar[int]
    settings: bytes
    dir: str
    cache_dir: str
    def __init__(self, settings: _Optional[bytes] = ..., dir: _Optional[str] = ..., cache_dir: _Optional[str] = ...) -> None: ...

class OpenResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CapabilitiesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CloseRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CloseResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StoreCapabilities(_message.Message):
    __slots__ = ("modes", "exact", "threshold", "filter", "vectors", "collections", "only")
    MODES_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    modes: _containers.RepeatedScalarFieldContainer[str]
    exact: bool
    threshold: bool
    filter: bool
    vectors: bool
    collections: bool
    only: bool
    def __init__(self, modes: _Optional[_Iterable[str]] = ..., exact: _Optional[bool] = ..., threshold: _Optional[bool] = ..., filter: _Optional[bool] = ..., vectors: _Optional[bool] = ..., collections: _Optional[bool] = ..., only: _Optional[bool] = ...) -> None: ...

class StoreInfo(_message.Message):
    __slots__ = ("engine", "version", "collection", "collections", "count", "dimensions", "distance", "embed_model", "query_prefix", "passage_prefix", "declared_per_item", "revision", "fingerprint", "fingerprint_misses", "vector_type", "embed_input", "notes")
    class DeclaredPerItemEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    EMBED_MODEL_FIELD_NUMBER: _ClassVar[int]
    QUERY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    PASSAGE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    DECLARED_PER_ITEM_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_MISSES_FIELD_NUMBER: _ClassVar[int]
    VECTOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    EMBED_INPUT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    engine: str
    version: str
    collection: str
    collections: _containers.RepeatedScalarFieldContainer[str]
    count: int
    dimensions: int
    distance: str
    embed_model: str
    query_prefix: str
    passage_prefix: str
    declared_per_item: _containers.ScalarMap[str, int]
    revision: str
    fingerprint: str
    fingerprint_misses: str
    vector_type: str
    embed_input: str
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, engine: _Optional[str] = ..., version: _Optional[str] = ..., collection: _Optional[str] = ..., collections: _Optional[_Iterable[str]] = ..., count: _Optional[int] = ..., dimensions: _Optional[int] = ..., distance: _Optional[str] = ..., embed_model: _Optional[str] = ..., query_prefix: _Optional[str] = ..., passage_prefix: _Optional[str] = ..., declared_per_item: _Optional[_Mapping[str, int]] = ..., revision: _Optional[str] = ..., fingerprint: _Optional[str] = ..., fingerprint_misses: _Optional[str] = ..., vector_type: _Optional[str] = ..., embed_input: _Optional[str] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class Item(_message.Message):
    __slots__ = ("id", "source", "revision", "text", "access", "metadata", "embed_model", "collection", "indexed_at", "updated_at", "vector")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Values, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    EMBED_MODEL_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    INDEXED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    id: str
    source: str
    revision: str
    text: str
    access: _containers.RepeatedScalarFieldContainer[str]
    metadata: _containers.MessageMap[str, Values]
    embed_model: str
    collection: str
    indexed_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    vector: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, id: _Optional[str] = ..., source: _Optional[str] = ..., revision: _Optional[str] = ..., text: _Optional[str] = ..., access: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Mapping[str, Values]] = ..., embed_model: _Optional[str] = ..., collection: _Optional[str] = ..., indexed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., vector: _Optional[_Iterable[float]] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("mode", "query", "vector", "limit", "filter", "threshold", "exact", "only", "ids_only")
    MODE_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    IDS_ONLY_FIELD_NUMBER: _ClassVar[int]
    mode: str
    query: str
    vector: _containers.RepeatedScalarFieldContainer[float]
    limit: int
    filter: _containers.RepeatedCompositeFieldContainer[Condition]
    threshold: float
    exact: bool
    only: _containers.RepeatedScalarFieldContainer[str]
    ids_only: bool
    def __init__(self, mode: _Optional[str] = ..., query: _Optional[str] = ..., vector: _Optional[_Iterable[float]] = ..., limit: _Optional[int] = ..., filter: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ..., threshold: _Optional[float] = ..., exact: _Optional[bool] = ..., only: _Optional[_Iterable[str]] = ..., ids_only: _Optional[bool] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("field", "any_of", "typed")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    NOT_FIELD_NUMBER: _ClassVar[int]
    TYPED_FIELD_NUMBER: _ClassVar[int]
    field: str
    any_of: _containers.RepeatedScalarFieldContainer[str]
    typed: bool
    def __init__(self, field: _Optional[str] = ..., any_of: _Optional[_Iterable[str]] = ..., typed: _Optional[bool] = ..., **kwargs) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("hits", "lower_is_better", "exact", "received", "cap")
    HITS_FIELD_NUMBER: _ClassVar[int]
    LOWER_IS_BETTER_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    CAP_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    lower_is_better: bool
    exact: bool
    received: str
    cap: int
    def __init__(self, hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., lower_is_better: _Optional[bool] = ..., exact: _Optional[bool] = ..., received: _Optional[str] = ..., cap: _Optional[int] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("item", "rank", "score")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    item: Item
    rank: int
    score: float
    def __init__(self, item: _Optional[_Union[Item, _Mapping]] = ..., rank: _Optional[int] = ..., score: _Optional[float] = ...) -> None: ...

class ScanRequest(_message.Message):
    __slots__ = ("collection", "vectors")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    collection: str
    vectors: bool
    def __init__(self, collection: _Optional[str] = ..., vectors: _Optional[bool] = ...) -> None: ...

class ScanBatch(_message.Message):
    __slots__ = ("items", "report")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    report: ScanReport
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., report: _Optional[_Union[ScanReport, _Mapping]] = ...) -> None: ...

class ScanReport(_message.Message):
    __slots__ = ("scanned", "counted", "unread", "left_out")
    SCANNED_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    scanned: int
    counted: int
    unread: str
    left_out: str
    def __init__(self, scanned: _Optional[int] = ..., counted: _Optional[int] = ..., unread: _Optional[str] = ..., left_out: _Optional[str] = ...) -> None: ...

class FetchRequest(_message.Message):
    __slots__ = ("ids", "vectors")
    IDS_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    vectors: bool
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., vectors: _Optional[bool] = ...) -> None: ...

class FetchResponse(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ...) -> None: ...

class EmbedderInfo(_message.Message):
    __slots__ = ("adapter", "model", "dimensions", "query_prefix", "passage_prefix", "revision")
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    QUERY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    PASSAGE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    adapter: str
    model: str
    dimensions: int
    query_prefix: str
    passage_prefix: str
    revision: str
    def __init__(self, adapter: _Optional[str] = ..., model: _Optional[str] = ..., dimensions: _Optional[int] = ..., query_prefix: _Optional[str] = ..., passage_prefix: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class EmbedRequest(_message.Message):
    __slots__ = ("texts", "purpose", "prefix", "model")
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    purpose: str
    prefix: str
    model: str
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., purpose: _Optional[str] = ..., prefix: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class Vector(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...

class EmbedResponse(_message.Message):
    __slots__ = ("vectors", "model_reported", "truncated", "input_tokens", "notes", "quota")
    class TruncatedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    MODEL_REPORTED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    vectors: _containers.RepeatedCompositeFieldContainer[Vector]
    model_reported: str
    truncated: _containers.ScalarMap[int, int]
    input_tokens: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    quota: Quota
    def __init__(self, vectors: _Optional[_Iterable[_Union[Vector, _Mapping]]] = ..., model_reported: _Optional[str] = ..., truncated: _Optional[_Mapping[int, int]] = ..., input_tokens: _Optional[int] = ..., notes: _Optional[_Iterable[str]] = ..., quota: _Optional[_Union[Quota, _Mapping]] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("role", "text")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    role: str
    text: str
    def __init__(self, role: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class GeneratorInfo(_message.Message):
    __slots__ = ("adapter", "model", "deterministic", "formats")
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    DETERMINISTIC_FIELD_NUMBER: _ClassVar[int]
    FORMATS_FIELD_NUMBER: _ClassVar[int]
    adapter: str
    model: str
    deterministic: bool
    formats: bool
    def __init__(self, adapter: _Optional[str] = ..., model: _Optional[str] = ..., deterministic: _Optional[bool] = ..., formats: _Optional[bool] = ...) -> None: ...

class GenerateRequest(_message.Message):
    __slots__ = ("messages", "temperature", "top_p", "seed", "max_tokens", "stop", "format")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    temperature: float
    top_p: float
    seed: int
    max_tokens: int
    stop: _containers.RepeatedScalarFieldContainer[str]
    format: Format
    def __init__(self, messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., seed: _Optional[int] = ..., max_tokens: _Optional[int] = ..., stop: _Optional[_Iterable[str]] = ..., format: _Optional[_Union[Format, _Mapping]] = ...) -> None: ...

class Format(_message.Message):
    __slots__ = ("name", "schema")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    name: str
    schema: bytes
    def __init__(self, name: _Optional[str] = ..., schema: _Optional[bytes] = ...) -> None: ...

class GenerateResponse(_message.Message):
    __slots__ = ("text", "finish_reason", "model_reported", "system_fingerprint", "request_id", "input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "wire_time", "refusal", "notes", "metadata", "quota")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    MODEL_REPORTED_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REASONING_TOKENS_FIELD_NUMBER: _ClassVar[int]
    WIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    text: str
    finish_reason: str
    model_reported: str
    system_fingerprint: str
    request_id: str
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int
    wire_time: _duration_pb2.Duration
    refusal: str
    notes: _containers.RepeatedScalarFieldContainer[str]
    metadata: _containers.ScalarMap[str, str]
    quota: Quota
    def __init__(self, text: _Optional[str] = ..., finish_reason: _Optional[str] = ..., model_reported: _Optional[str] = ..., system_fingerprint: _Optional[str] = ..., request_id: _Optional[str] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cached_input_tokens: _Optional[int] = ..., reasoning_tokens: _Optional[int] = ..., wire_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., refusal: _Optional[str] = ..., notes: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., quota: _Optional[_Union[Quota, _Mapping]] = ...) -> None: ...

class Quota(_message.Message):
    __slots__ = ("requests", "tokens")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    requests: Allowance
    tokens: Allowance
    def __init__(self, requests: _Optional[_Union[Allowance, _Mapping]] = ..., tokens: _Optional[_Union[Allowance, _Mapping]] = ...) -> None: ...

class Allowance(_message.Message):
    __slots__ = ("limit", "left", "reset")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    limit: int
    left: int
    reset: _duration_pb2.Duration
    def __init__(self, limit: _Optional[int] = ..., left: _Optional[int] = ..., reset: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RerankerInfo(_message.Message):
    __slots__ = ("adapter", "model")
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    adapter: str
    model: str
    def __init__(self, adapter: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class RerankRequest(_message.Message):
    __slots__ = ("query", "documents")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    query: str
    documents: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, query: _Optional[str] = ..., documents: _Optional[_Iterable[str]] = ...) -> None: ...

class RerankResponse(_message.Message):
    __slots__ = ("results", "model_reported", "input_tokens", "notes", "quota")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_REPORTED_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RerankResult]
    model_reported: str
    input_tokens: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    quota: Quota
    def __init__(self, results: _Optional[_Iterable[_Union[RerankResult, _Mapping]]] = ..., model_reported: _Optional[str] = ..., input_tokens: _Optional[int] = ..., notes: _Optional[_Iterable[str]] = ..., quota: _Optional[_Union[Quota, _Mapping]] = ...) -> None: ...

class RerankResult(_message.Message):
    __slots__ = ("index", "score", "truncated")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    index: int
    score: float
    truncated: bool
    def __init__(self, index: _Optional[int] = ..., score: _Optional[float] = ..., truncated: _Optional[bool] = ...) -> None: ...
