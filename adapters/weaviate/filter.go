package weaviate

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/culprit-rag/culprit/adapters"
)

// filter is a list of conditions, split into who answers what. The server narrows down as far as its answer is sure to hold
// every item that is admitted. With the setting "checked" each item that comes back is then asked again here, as what the server
// admits may be too much (a value that is tokenized holds where its words occur); else that is left as production gets it.
// What is excluded is always asked for here, since NotEqual is wrong after updates.
type filter struct {
	tenant  []adapters.Condition // on the tenant
	every   []adapters.Condition // all others
	others  []adapters.Condition // those that are asked again of what the server returns
	where   []string             // for the server
	nothing bool                 // no item can be admitted
	wide    bool                 // the server may return items that are not admitted
	reads   []string             // the properties that are needed to answer
}

// Fields of a condition that are no metadata.
const (
	fieldID       = "id"
	fieldSource   = "source"
	fieldRevision = "revision"
	fieldAccess   = "access"
)

func (s *store) filter(c *class, conditions []adapters.Condition) (filter, error) {
	var f filter
	for _, cond := range conditions {
		switch {
		case c.tenants && cond.Field == s.set.TenantField:
			f.tenant = append(f.tenant, cond)
			continue
		case len(cond.AnyOf) == 0:
			f.nothing = f.nothing || !cond.Not
			continue
		}
		f.every, f.others = append(f.every, cond), append(f.others, cond)
		if cond.Field == fieldID {
			f.ids(cond)
			continue
		}
		name := s.propertyOf(cond.Field)
		if slices.Contains(c.unread, name) {
			return f, invalid("property %q of class %q is of a type that holds no text, number or boolean: it cannot be filtered by", name, c.name)
		}
		p, ok := c.property(name)
		if !ok {
			f.nothing = f.nothing || !cond.Not
			continue
		}
		f.reads = append(f.reads, name)
		if cond.Not {
			f.wide = true
			continue
		}
		wide, asked := f.wide, len(f.where)
		f.narrow(c, p, cond, asText(cond.Field))
		if s.set.Filter == filterServer && len(f.where) > asked {
			f.wide, f.others = wide, f.others[:len(f.others)-1]
		}
	}
	return f, nil
}

// Who decides what a condition admits.
const (
	filterServer  = "server"
	filterChecked = "checked"
)

// propertyOf returns the property that a condition's field is read from; "" is none.
func (s *store) propertyOf(field string) string {
	switch field {
	case fieldSource:
		return s.set.Fields.Source
	case fieldRevision:
		return s.set.Fields.Revision
	case fieldAccess:
		return s.set.Fields.Access
	}
	return field
}

// asText says whether a field of an item is text, whatever type it is stored as.
func asText(field string) bool {
	return field == fieldSource || field == fieldRevision || field == fieldAccess
}

func (f *filter) ids(cond adapters.Condition) {
	if cond.Not {
		f.wide = true
		return
	}
	known := validIDs(cond.AnyOf)
	if len(known) == 0 {
		f.nothing = true
		return
	}
	f.where = append(f.where, byIDs(known))
}

// validIDs returns those that can be the id of an object, each once.
func validIDs(ids []string) []string {
	var known []string
	seen := map[string]bool{}
	for _, id := range ids {
		if parsed, err := uuid.Parse(id); err == nil && parsed.String() == id && !seen[id] {
			seen[id] = true
			known = append(known, id)
		}
	}
	return known
}

func byIDs(ids []string) string {
	return `{path:["id"],operator:ContainsAny,valueText:` + quoteAll(ids) + `}`
}

// narrow lets the server answer a condition as far as it can.
func (f *filter) narrow(c *class, p property, cond adapters.Condition, text bool) {
	switch p.kind() {
	case "text", "string":
		if cond.Typed && !text {
			f.nothing = true
			return
		}
		f.narrowText(c, p, cond.AnyOf)
	case "int", "number", "boolean":
		if !cond.Typed && !text {
			f.nothing = true
			return
		}
		f.narrowTyped(p, cond.AnyOf)
	default: // dates and uuids have several forms for the server, and one for us
		f.nothing = f.nothing || cond.Typed && !text
		f.wide = true
	}
}

// longestTerm is the longest text that the server is asked for: its index has a bound of its own.
const longestTerm = 1000

func (f *filter) narrowText(c *class, p property, wanted []string) {
	var terms []string
	for _, text := range wanted {
		switch {
		case !utf8.ValidString(text):
			continue // no stored text is like that
		case len(text) > longestTerm || !c.hasTerm(p, text):
			f.wide = true
			return
		}
		terms = append(terms, text)
	}
	f.wide = true // of words, and by the space around them
	switch {
	case len(terms) == 0:
		f.nothing = true
	case p.filterable():
		f.where = append(f.where, `{path:[`+quote(p.Name)+`],operator:ContainsAny,valueText:`+quoteAll(terms)+`}`)
	}
}

// hasTerm says whether the server is sure to find something to look for in the text: one of only stopwords or signs is an
// error to it.
func (c *class) hasTerm(p property, text string) bool {
	switch p.Tokenization {
	case "field", "whitespace", "lowercase":
		return strings.TrimSpace(text) != ""
	case "word", "":
		return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }),
			func(word string) bool { return !c.stopwords[word] })
	}
	return false
}

func (f *filter) narrowTyped(p property, wanted []string) {
	var literals []string
	field := "value" + strings.ToUpper(p.kind()[:1]) + p.kind()[1:]
	for _, text := range wanted {
		number, err := strconv.ParseFloat(text, 64)
		switch {
		case p.kind() == "boolean" && (text == "true" || text == "false"):
			literals = append(literals, text)
		case p.kind() == "boolean" || err != nil || math.IsInf(number, 0) || math.IsNaN(number):
			continue
		case p.kind() == "int" && (number != math.Trunc(number) || math.Abs(number) > 1<<53):
			f.wide = f.wide || number == math.Trunc(number)
			continue
		default:
			literals = append(literals, strconv.FormatFloat(number, 'f', -1, 64))
		}
	}
	switch {
	case len(literals) == 0 && !f.wide:
		f.nothing = true
	case len(literals) > 0 && (p.IndexFilterable == nil || *p.IndexFilterable):
		f.where = append(f.where, `{path:[`+quote(p.Name)+`],operator:ContainsAny,`+field+`:[`+strings.Join(literals, ",")+`]}`)
	default:
		f.wide = true
	}
}

// admits is the meaning of conditions on everything but the tenant.
func (s *store) admits(conditions []adapters.Condition, o object) bool {
	for _, cond := range conditions {
		values := []value{{o.id, false}}
		if cond.Field != fieldID {
			values = valuesOf(o.props[s.propertyOf(cond.Field)])
		}
		text := asText(cond.Field)
		holds := slices.ContainsFunc(values, func(v value) bool {
			return slices.ContainsFunc(cond.AnyOf, func(wanted string) bool { return equal(v, wanted, cond.Typed, text) })
		})
		if holds == cond.Not {
			return false
		}
	}
	return true
}

// equal compares strings with strings and, where the condition is typed, numbers by what they are worth. A field that is text
// to the item is compared as text.
func equal(v value, wanted string, typed, text bool) bool {
	switch {
	case text || !typed && !v.typed:
		return v.text == wanted
	case typed != v.typed:
		return false
	case v.text == wanted:
		return true
	}
	a, errA := strconv.ParseFloat(v.text, 64)
	b, errB := strconv.ParseFloat(wanted, 64)
	return errA == nil && errB == nil && a == b
}
