// Package pineconetest is a stand-in for the parts of Pinecone's API that the plugin uses, for tests: GET /indexes/NAME of the control
// plane, and Query, Fetch, List and DescribeIndexStats of the data plane. It is written from Pinecone's documentation, not from a
// Pinecone; what it shows of the plugin holds as far as that is right. Unlike Pinecone it keeps lists of numbers in metadata.
package pineconetest
