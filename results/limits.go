package results

// Limits on what is written and, so that a hostile bundle cannot exhaust the reader, on what is read.
const (
	// MaxResponse is the longest raw response that is kept whole; of a longer one the first KeptOfResponse bytes are kept.
	MaxResponse = 8 << 20
	// KeptOfResponse is what is kept of a response over MaxResponse.
	KeptOfResponse = 64 << 10

	maxManifest    = 16 << 20
	maxDirectory   = 16 << 20
	maxFile        = 64 << 20
	maxTotal       = 2 << 30
	maxFiles       = 20_000
	maxLine        = 16 << 20
	maxJournalLine = 1 << 20
	maxSummary     = 256 << 20
	maxLedger      = 256 << 20
	maxLedgerLine  = 64 << 10
	maxEnvelope    = 4 << 20
	maxSignatures  = 1000
)
