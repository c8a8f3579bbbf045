package runner

// spread puts hashes apart: FNV gives texts that differ in their last letter hashes that lie close together, and a
// sample of the smallest would hold runs of neighbouring ids. (The finaliser of MurmurHash3.)
func spread(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
