// Package tap is an OpenAI-compatible proxy between a service and its model that records each prompt under the id of the request
// that it was made for, and can put another context into it.
//
// [Proxy] is the server, [Client] asks it. A service needs another base URL for its model and nothing else; where it hands on a
// request id (a header, or metadata.request_id in the body) each prompt is bound to its request, and where it does not, a
// prompt is bound to the only request that is open.
//
// What is sent to the model is what the service sent, byte for byte, and so is the answer; only the one text in which a context
// is substituted differs, and what was packed as gzip then goes unpacked. A prompt in which the place of the context is not certain, or that cannot be read, is not sent: the service gets an error, and
// nothing is bought. No header is kept, and what a header carried as a credential is taken out of whatever is.
//
// A Proxy is safe for concurrent use and keeps the latest prompts in memory, in bounded number and size. It writes no file.
package tap
