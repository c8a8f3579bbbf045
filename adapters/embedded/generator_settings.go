package embedded

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// generatorSettings are described in generator.schema.json.
type generatorSettings struct {
	Model          string            `json:"model"`
	Anchored       bool              `json:"anchored"`
	Prefers        string            `json:"prefers"`
	Reads          string            `json:"reads"`
	Paragraphs     bool              `json:"paragraphs"`
	Quotes         string            `json:"quotes"`
	MinOverlap     int               `json:"min_overlap"`
	Spots          []string          `json:"spots"`
	SpotsAll       bool              `json:"spots_all"`
	Unable         string            `json:"unable"`
	Invents        string            `json:"invents"`
	Memory         string            `json:"memory"`
	IgnoresContext bool              `json:"ignores_context"`
	Obeys          bool              `json:"obeys"`
	Fixed          *string           `json:"fixed"`
	Rewrites       *rewrites         `json:"rewrites"`
	Cites          bool              `json:"cites"`
	CitesAs        string            `json:"cites_as"`
	Misreads       map[string]string `json:"misreads"`
	Refusal        string            `json:"refusal"`
	Flip           *flip             `json:"flip"`
	Deterministic  *bool             `json:"deterministic"`
	ContextTokens  int               `json:"context_tokens"`
	DropsRole      string            `json:"drops_role"`
	Provider       []providerRule    `json:"provider"`
}

// flip replaces a share of the answers.
type flip struct {
	Rate float64 `json:"rate"`
	To   string  `json:"to"`
}

// providerRule is one fault of the provider.
type providerRule struct {
	When       string        `json:"when"`
	Finish     string        `json:"finish"`
	Error      adapters.Kind `json:"error"`
	Times      *int          `json:"times"`
	RetryAfter string        `json:"retry_after"`

	retryAfter time.Duration
}

const (
	unableRefuse = "refuse"
	unableInvent = "invent"
	flipRefuse   = "refuse"
	flipWrong    = "wrong"

	prefersFirst = "first"
	prefersLast  = "last"
	prefersBest  = "best"
	prefersOld   = "old"

	readsAll   = "all"
	readsFirst = "first"
	readsLast  = "last"
	readsEnds  = "ends"

	quotesSentence = "sentence"
	quotesChunk    = "chunk"
)

func defaultGenerator() generatorSettings {
	return generatorSettings{
		Model:      "extractive",
		Anchored:   true,
		Prefers:    prefersFirst,
		Reads:      readsAll,
		Quotes:     quotesSentence,
		MinOverlap: 2,
		Unable:     unableRefuse,
		Invents:    "The answer is 42.",
		Cites:      true,
		Refusal:    "I don't know.",
	}
}

func readGeneratorSettings(data json.RawMessage) (generatorSettings, error) {
	set := defaultGenerator()
	if err := decodeSettings(data, &set); err != nil {
		return set, err
	}
	if set.Rewrites != nil && set.Rewrites.When == "" {
		set.Rewrites.When = "search query"
	}
	if set.Flip != nil && set.Flip.To == "" {
		set.Flip.To = flipRefuse
	}
	err := set.check()
	return set, err
}

// check holds the settings to what the schema says, for those that did not come through it.
func (s *generatorSettings) check() error {
	for _, c := range []struct {
		name, value string
		allowed     []string
	}{
		{"prefers", s.Prefers, []string{prefersFirst, prefersLast, prefersBest, prefersOld}},
		{"reads", s.Reads, []string{readsAll, readsFirst, readsLast, readsEnds}},
		{"quotes", s.Quotes, []string{quotesSentence, quotesChunk}},
		{"unable", s.Unable, []string{unableRefuse, unableInvent}},
		{"drops_role", s.DropsRole, []string{"", "system", "user", "assistant"}},
	} {
		if err := oneOf(c.name, c.value, c.allowed); err != nil {
			return err
		}
	}
	if s.MinOverlap < 0 || s.ContextTokens < 0 {
		return invalid("open", "min_overlap and context_tokens must be 0 or more")
	}
	if f := s.Flip; f != nil {
		if f.Rate < 0 || f.Rate > 1 {
			return invalid("open", "flip.rate is %g, and must be 0 to 1", f.Rate)
		}
		if err := oneOf("flip.to", f.To, []string{flipRefuse, flipWrong}); err != nil {
			return err
		}
	}
	for i := range s.Provider {
		if err := s.Provider[i].check(fmt.Sprintf("provider[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *providerRule) check(name string) error {
	if (r.Finish == "") == (r.Error == "") {
		return invalid("open", "%s must have finish or error, and not both", name)
	}
	if err := oneOf(name+".finish", r.Finish, []string{"", adapters.FinishContentFilter, adapters.FinishLength}); err != nil {
		return err
	}
	if err := oneOf(name+".error", r.Error, []adapters.Kind{
		"", adapters.KindTransient, adapters.KindRateLimited,
		adapters.KindPermanent, adapters.KindUnauthorised, adapters.KindTimeout,
	}); err != nil {
		return err
	}
	if r.Times != nil && *r.Times < 1 {
		return invalid("open", "%s.times is %d, and must be 1 or more; leave it out for always", name, *r.Times)
	}
	if r.RetryAfter == "" {
		return nil
	}
	wait, err := time.ParseDuration(r.RetryAfter)
	if err != nil || wait < 0 {
		return invalid("open", "%s.retry_after %q is not a duration such as %q", name, r.RetryAfter, "1s")
	}
	r.retryAfter = wait
	return nil
}

func oneOf[S ~string](name string, value S, allowed []S) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return invalid("open", "%s is %q, and must be one of %q", name, value, allowed)
}
