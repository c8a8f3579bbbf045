package conformance

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// Corpus is what a store under test is filled with. Items whose Collection is empty belong to the collection that the
// store is opened on.
type Corpus struct {
	Items      []adapters.Item
	Dimensions int
}

const (
	corpusSize = 200
	dimensions = 24
	// RareWord stands in two items, and in no other word.
	RareWord = "zyzzyva"
	// OtherCollection holds the last items of the corpus.
	OtherCollection = "other"
	otherItems      = 5
	tiedItems       = 4
	embedModel      = "suite-model"
	vectorless      = 31
)

// awkward are texts that must come back byte by byte.
var awkward = []string{
	"Case MATTERS here, case matters there.",
	"Part ZX-4471/B is not ZX-4471B.",
	"to be or not to be",
	"C++ is not C, and C# is neither.",
	"休暇制度は九月一日から適用されます。",
	"café with one code point",
	"cafe\u0301 with two code points",
	"Emoji 👩‍👩‍👧 and 🇨🇭 are several code points each.",
	"Controls \x01\x0b\x1b[31m\x7f stay.",
	"A NUL \x00 ends nothing.",
	"Wildcards * ? % _ and quotes \" ' ` and \\ and (NEAR).",
	"A line\nand another\r\nand a\ttab.",
	"abc",
	"\ufeffA byte order mark begins this.",
	"<b>&amp; markup</b> {{query}} ${x}",
	strings.Repeat("ten kilobytes ", 732) + "end-of-long-text",
}

// numbers are written as JSON writes them.
var numbers = []string{"3", "0", "-2", "2.5", "1500000", "0.25"}

// NewCorpus returns about two hundred items, always the same. With id nil the ids are any text.
func NewCorpus(id func(n int) string) Corpus {
	if id == nil {
		id = anyID
	}
	random := rand.New(rand.NewPCG(7, 11))
	c := Corpus{Dimensions: dimensions}
	at := time.Date(2026, 7, 1, 12, 0, 0, 123456789, time.UTC)
	for n := range corpusSize {
		item := adapters.Item{
			ID:         id(n),
			Source:     fmt.Sprintf("source-%d", n/4),
			Revision:   fmt.Sprintf("2026-0%d", n%3+1),
			Text:       sentence(random),
			Metadata:   map[string][]string{"tenant": {[]string{"acme", "globex"}[n%2]}, "status": {"final"}},
			EmbedModel: embedModel,
			IndexedAt:  at.Add(time.Duration(n) * time.Minute),
			UpdatedAt:  at.Add(-time.Duration(n) * time.Hour),
			Vector:     randomVector(random),
		}
		switch n % 5 {
		case 0:
			item.Metadata["pages"] = []string{numbers[n/5%len(numbers)]}
			item.Metadata["signed"] = []string{strconv.FormatBool(n%3 == 0)}
		case 1:
			item.Access = []string{"employees"}
			item.Metadata["edition"] = []string{[]string{"3", "2.5", "true"}[n%3]} // strings that look otherwise
		case 2:
			item.Access = []string{"managers", "Board: \"A\""}
			item.Metadata["sizes"] = []string{"1.5", numbers[n%len(numbers)]}
		case 3:
			item.Metadata["tag"] = []string{"red", "größe"}
		case 4:
			item.Metadata = nil
			item.Source = ""
		}
		if n < len(awkward) {
			item.Text = awkward[n]
		}
		c.Items = append(c.Items, item)
	}
	special(c.Items)
	return c
}

// special makes the items that stand for a case of their own, away from the awkward texts.
func special(items []adapters.Item) {
	items[vectorless].Vector = nil
	items[32].EmbedModel = ""
	items[33].EmbedModel = "another-model"
	items[34].IndexedAt, items[34].UpdatedAt = time.Time{}, time.Time{}
	items[35].Text = ""
	items[36].Text = " \n two spaces  "
	items[37].Metadata = map[string][]string{"lines": {"Apart in the", "list of lines"}} // a text that stands nowhere
	items[40].Text += " " + RareWord
	items[140].Text = "Only " + RareWord + " counts."
	for n := range tiedItems { // equal texts and vectors under ids that are not in the order of insertion
		tied := &items[50+37*n]
		tied.Text, tied.Vector = "Invoices are tied.", items[50].Vector
	}
	for n := range otherItems {
		items[len(items)-1-n].Collection = OtherCollection
	}
}

// anyID makes ids whose order is not that of n, some of them awkward.
func anyID(n int) string {
	switch n {
	case 3:
		return "it's \"quoted\" % _ * (x)"
	case 4:
		return "größe/空 #1?"
	case 5:
		return "UPPER"
	case 6:
		return "upper"
	case 7:
		return "10"
	case 8:
		return "9"
	}
	if n >= corpusSize {
		return fmt.Sprintf("item-%d", n)
	}
	return fmt.Sprintf("item-%03d", n*77%corpusSize)
}

func sentence(random *rand.Rand) string {
	vocabulary := strings.Fields(`invoice payment holiday parental leave policy travel train flight hotel receipt laptop
		security badge office room pump seal torque warranty refund order delivery customer contract notice period salary`)
	words := make([]string, 6+random.IntN(10))
	for i := range words {
		words[i] = vocabulary[random.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ") + "."
}

func randomVector(random *rand.Rand) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v
}

// queryVector is a vector that no item has.
func queryVector(seed uint64) []float32 { return randomVector(rand.New(rand.NewPCG(seed, 99))) }

// main returns the items of the collection that is searched, by id.
func (c Corpus) main() []adapters.Item {
	return c.collection("")
}

func (c Corpus) collection(name string) []adapters.Item {
	var items []adapters.Item
	for _, item := range c.Items {
		if item.Collection == name {
			items = append(items, item)
		}
	}
	slices.SortFunc(items, func(a, b adapters.Item) int { return cmp.Compare(a.ID, b.ID) })
	return items
}

// without returns the corpus without these characters in its texts.
func (c Corpus) without(characters string) Corpus {
	if characters == "" {
		return c
	}
	c.Items = slices.Clone(c.Items)
	for i := range c.Items {
		c.Items[i].Text = drop(characters, c.Items[i].Text)
	}
	return c
}

// needing returns the corpus with a vector for each item, where the store has no item without.
func (c Corpus) needing(vectors bool) Corpus {
	if !vectors {
		return c
	}
	return c.with(vectorless, func(i *adapters.Item) { i.Vector = queryVector(vectorless) })
}

func drop(characters, text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(characters, r) {
			return -1
		}
		return r
	}, text)
}

// with returns a copy of the corpus whose item n is changed.
func (c Corpus) with(n int, change func(*adapters.Item)) Corpus {
	c.Items = slices.Clone(c.Items)
	change(&c.Items[n])
	return c
}
