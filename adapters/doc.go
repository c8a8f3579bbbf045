// Package adapters holds the contracts between Culprit and the backends it measures: the interfaces, their value types,
// capabilities, error kinds, the registry, and the wrappers that add redaction, retries, limits and deadlines.
//
// Start from [VectorStore], [Embedder], [Generator] and [Reranker], and from [Registry], which names the implementations.
// Each implementation lives in a folder of its own and passes the suite in adapters/adaptertest, and so does every wrapper.
//
// A wrapped call passes through, outermost first: redact, retry, rate limit, concurrency limit, timeout ([Policy]).
//
// Every method is safe for concurrent use, honours its context, and returns errors that are a *[Error]. Asking for an
// ability that a backend does not declare (a store in its [StoreCapabilities]) is a [KindUnsupported] error, never an empty answer. Stores are never written.
package adapters
