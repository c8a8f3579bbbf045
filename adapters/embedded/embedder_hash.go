package embedded

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// space is one model's way from words to dimensions.
type space struct {
	seed      uint64 // the hash of the model's name
	maxTokens int    // 0: no limit
	ascii     bool
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func newSpace(model string, set embedderSettings) space {
	return space{seed: fnvString(fnvOffset, model+"\x00"), maxTokens: set.MaxTokens, ascii: set.ASCII}
}

// untrained is where a model puts a text without the prefix that it was trained with.
func (s space) untrained() space {
	s.seed = fnvString(s.seed, "without prefix\x00")
	return s
}

func fnvString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// dimension spreads a hash over n dimensions. FNV alone leaves its low bits too regular for a modulus.
func dimension(h uint64, n int) int {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return int(h % uint64(n))
}

// add counts the tokens of text in vector, which is all zeros, and brings it to unit length. It allocates nothing.
func (s space) add(vector []float32, text string) (cut bool) {
	hash, inside, tokens := s.seed, false, 0
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		if r = s.letter(r); r >= 0 {
			if !inside && s.maxTokens > 0 && tokens == s.maxTokens {
				cut = true
				break
			}
			inside = true
			hash = fnvRune(hash, r)
			continue
		}
		if inside {
			vector[dimension(hash, len(vector))]++
			hash, inside = s.seed, false
			tokens++
		}
	}
	if inside {
		vector[dimension(hash, len(vector))]++
	}
	normalise(vector)
	return cut
}

// letter returns r in lower case, or -1 where it stands between tokens.
func (s space) letter(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
		return r
	case 'A' <= r && r <= 'Z':
		return r + ('a' - 'A')
	case r < utf8.RuneSelf:
		return -1
	case s.ascii:
		if r = unicode.ToLower(r); r < utf8.RuneSelf { // such as the sign for kelvin
			return r
		}
		return -1
	case inWord(r):
		return unicode.ToLower(r)
	}
	return -1
}

func fnvRune(h uint64, r rune) uint64 {
	if r < utf8.RuneSelf {
		return (h ^ uint64(r)) * fnvPrime
	}
	var buf [utf8.UTFMax]byte
	for _, b := range buf[:utf8.EncodeRune(buf[:], r)] {
		h = (h ^ uint64(b)) * fnvPrime
	}
	return h
}

// normalise brings a vector of counts to unit length; zeros stay. Sums of squared counts are exact in float64, so the
// result is the same on every machine.
func normalise(vector []float32) {
	sum := 0.0
	for _, v := range vector {
		if v != 0 {
			sum += float64(v) * float64(v)
		}
	}
	if sum == 0 {
		return
	}
	length := math.Sqrt(sum)
	for i, v := range vector {
		if v != 0 {
			vector[i] = float32(float64(v) / length)
		}
	}
}

// unit returns v at unit length; zeros stay. It scales first, so that no value is too large or too small to square, and
// converts each product, so that no machine fuses it with the sum.
func unit(v []float64) []float32 {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	out := make([]float32, len(v))
	if largest == 0 {
		return out
	}
	sum := 0.0
	for _, x := range v {
		x /= largest
		sum += float64(x * x)
	}
	length := math.Sqrt(sum)
	for i, x := range v {
		if f := float32(x / largest / length); f != 0 { // never a negative zero
			out[i] = f
		}
	}
	return out
}
