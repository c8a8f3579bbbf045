// Package loader fills a collection of a vector store from the documents of an experiment. It is the one part of Culprit
// that writes a store, and nothing but the command culprit load reaches it.
//
// Start from [Load]. The collection is made by the load itself and carries a mark that says so: from which documents, by
// which embedder, and whether the load came to its end. A collection without that mark belongs to somebody else and is never
// touched. A load that was cut short is taken up where it ended; what has been loaded already is left as it is.
//
// Two loads into one collection at once write the same items under the same ids, since an id is made of the document's own.
// Errors are a [Refusal] where a collection stands in the way, and else an *adapters.Error.
package loader
