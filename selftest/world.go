package selftest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// world invents what the documents of one corpus are about. No two facts of a world share a name or a number, so that no
// text states a fact by chance.
type world struct {
	rng     *rand.Rand
	place   string
	things  []string
	used    map[string]bool
	numbers map[int]bool
}

// The domains: a place, and what is in it.
var domains = []struct {
	place  string
	things []string
}{
	{"harbour", []string{"berth", "crane", "slipway", "pilot", "buoy", "ferry"}},
	{"library", []string{"archive", "carrel", "scanner", "vault", "lectern", "annex"}},
	{"clinic", []string{"ward", "incubator", "pharmacy", "laboratory", "ambulance", "autoclave"}},
	{"orchard", []string{"press", "barn", "nursery", "trellis", "cellar", "sprayer"}},
	{"observatory", []string{"dome", "telescope", "mirror", "spectrograph", "antenna", "darkroom"}},
	{"brewery", []string{"kettle", "silo", "bottler", "chiller", "cooperage", "boiler"}},
	{"quarry", []string{"drill", "conveyor", "crusher", "hoist", "tunnel", "weighbridge"}},
	{"theatre", []string{"balcony", "curtain", "trapdoor", "workshop", "dimmer", "orchestra"}},
}

// What a thing has, and in which unit.
var attributes = []struct{ name, unit string }{
	{"fee", "crowns"},
	{"toll", "crowns"},
	{"rent", "crowns"},
	{"deposit", "crowns"},
	{"fine", "crowns"},
	{"length", "metres"},
	{"height", "metres"},
	{"depth", "metres"},
	{"weight", "kilograms"},
	{"capacity", "litres"},
	{"voltage", "volts"},
	{"quota", "baskets"},
	{"allowance", "sacks"},
	{"crew", "sailors"},
	{"output", "barrels"},
}

// Texts that answer nothing. They share no word with a question.
var notes = []string{
	"Towels are washed on Mondays.", "Lunch is served at noon upstairs.", "Umbrellas stand beside both doors.",
	"Visitors sign their names in ink.", "Bicycles belong behind green sheds.", "Lamps burn until midnight every Friday.",
	"Dogs wait outside near old railings.", "Letters leave twice each morning.", "Floors are polished before holidays.",
	"Keys hang beside two red hooks.", "Windows face north and east.", "Photographs need written permission.",
	"Heating starts again in October.", "Lost gloves end up in a blue box.",
}

func newWorld(rng *rand.Rand) *world {
	d := domains[rng.IntN(len(domains))]
	w := &world{rng: rng, place: d.place, used: map[string]bool{}, numbers: map[int]bool{}}
	for _, i := range rng.Perm(len(d.things)) {
		w.things = append(w.things, d.things[i])
	}
	return w
}

// name makes up a proper name of two or three syllables.
func (w *world) name() string {
	const (
		starts  = "b d f g k l m n p r t v z"
		vowels  = "a e i o u"
		endings = "lk rn st nd rt mp lt"
	)
	pick := func(list string) string { parts := strings.Fields(list); return parts[w.rng.IntN(len(parts))] }
	for {
		s := pick(starts) + pick(vowels) + pick(starts) + pick(vowels) + pick(endings)
		if !w.used[s] {
			w.used[s] = true
			return strings.ToUpper(s[:1]) + s[1:]
		}
	}
}

// number draws one that is nobody else's in this world.
func (w *world) number() int {
	for {
		if n := 21 + w.rng.IntN(900); !w.numbers[n] {
			w.numbers[n] = true
			return n
		}
	}
}

// fact is what one text states: the attribute of a thing.
type fact struct {
	attribute, unit, name, thing string
	value                        string // "60 crowns"
}

func (w *world) fact() fact {
	a := attributes[w.rng.IntN(len(attributes))]
	for w.used[a.name] { // one attribute, one thing
		a = attributes[w.rng.IntN(len(attributes))]
	}
	w.used[a.name] = true
	f := fact{attribute: a.name, unit: a.unit, name: w.name(), thing: w.things[0]}
	w.things = append(w.things[1:], w.things[0])
	f.value = w.value(f)
	return f
}

// value is another value that the same attribute might have.
func (w *world) value(f fact) string { return fmt.Sprintf("%d %s", w.number(), f.unit) }

// full names what the fact is about: "fee of the Barolt crane".
func (f fact) full() string { return fmt.Sprintf("%s of the %s %s", f.attribute, f.name, f.thing) }

// states is the text of a fact in one of several wordings, all of which begin with what it is about.
func (w *world) states(f fact) string {
	forms := []string{"The %s is %s.", "The %s comes to %s.", "The %s has been set at %s."}
	return fmt.Sprintf(forms[w.rng.IntN(len(forms))], f.full(), f.value)
}

// pick draws n different notes.
func (w *world) pick(n int) []string {
	var out []string
	for _, i := range w.rng.Perm(len(notes))[:n] {
		out = append(out, notes[i])
	}
	return out
}
