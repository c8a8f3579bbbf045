package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

// Bounds on what is read of a judge's answer; over them it is void.
const (
	MaxStatements = 200     // of one answer
	maxOpenings   = 64      // places at which a JSON object may begin in a text around it
	maxSentence   = 4 << 10 // bytes of a statement or question
)

// JudgeRefused is why a judgement is void whose judge refused.
const JudgeRefused = "the judge refused"

// Question is what of a question to the judge is needed to read its answer.
type Question struct {
	Answer    string // that a quote must stand in
	Numbered  int    // statements that each need a judgement
	Questions int    // that are wanted
}

// ReadJudgement reads a judge's answer into j, or says there why it is void. Nothing is guessed: what is not of the form that was
// asked for decides nothing.
func ReadJudgement(j *matrix.Judgement, text string, about Question) {
	object, err := judgeObject(text, j.Structured)
	if err == nil {
		switch j.Kind {
		case matrix.JudgeClaim:
			err = readClaim(j, object, about.Answer)
		case matrix.JudgeStatements:
			j.Statements, err = readSentences(object, "statements", MaxStatements)
		case matrix.JudgeFaithfulness, matrix.JudgeContextRecall:
			j.Supported, err = readNumbered(object, about.Numbered)
		case matrix.JudgeContextPrecision:
			j.Useful = new(bool)
			err = object.read("useful", j.Useful)
		case matrix.JudgeAnswerRelevancy:
			if err = object.read("noncommittal", &j.Noncommittal); err == nil {
				j.Questions, err = readSentences(object, "questions", MaxStatements)
			}
			j.Questions = j.Questions[:min(len(j.Questions), about.Questions)]
		default:
			err = fmt.Errorf("nothing is known of kind %q", j.Kind)
		}
	}
	if err != nil {
		j.Void = err.Error()
		j.Word, j.Statements, j.Supported, j.Useful, j.Questions, j.Noncommittal = "", nil, nil, nil, nil, false
	}
}

// object is a JSON object by its keys, none of which was given twice.
type object map[string]json.RawMessage

// read decodes the value of a key, which must be there and not null.
func (o object) read(key string, into any) error {
	raw, ok := o[key]
	if !ok || string(raw) == "null" {
		return fmt.Errorf("the judge's answer has no %q", key)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%q of the judge's answer is not of the form that was asked for", key)
	}
	return nil
}

var (
	errNoObject  = errors.New("the judge's answer is not the JSON object that was asked for")
	errTwoObject = errors.New("the judge's answer holds several JSON objects that differ")
)

// judgeObject finds the JSON object of a judge's answer. A judge that was held to the form has written nothing else; of any other
// the first object is taken, unless another one behind it says something else: then nobody knows which is meant.
func judgeObject(text string, structured bool) (object, error) {
	if structured {
		o, rest, err := decodeObject(text)
		if err != nil || strings.TrimSpace(rest) != "" {
			return nil, errNoObject
		}
		return o, nil
	}
	var first object
	var bytesOfFirst []byte
	for range maxOpenings {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		o, rest, err := decodeObject(text[at:])
		if err != nil {
			text = text[at+1:]
			continue
		}
		text = rest
		canonical, err := json.Marshal(o)
		switch {
		case err != nil:
			return nil, errNoObject
		case first == nil:
			first, bytesOfFirst = o, canonical
		case !bytes.Equal(bytesOfFirst, canonical):
			return nil, errTwoObject
		}
	}
	if first == nil {
		return nil, errNoObject
	}
	return first, nil
}

// decodeObject reads the JSON object that text begins with, and returns what follows it.
func decodeObject(text string) (object, string, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') {
		return nil, "", errNoObject
	}
	o := object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, "", err
		}
		name, _ := key.(string)
		if _, twice := o[name]; twice {
			return nil, "", fmt.Errorf("key %q is given twice", name)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, "", err
		}
		o[name] = raw
	}
	if _, err := dec.Token(); err != nil { // its end; a text that was cut off has none
		return nil, "", err
	}
	return o, text[dec.InputOffset():], nil
}

// readClaim reads the word on a claim. The words that it rests on must stand in the answer.
func readClaim(j *matrix.Judgement, o object, answer string) error {
	var quote string
	if err := o.read("word", &j.Word); err != nil {
		return err
	}
	if j.Word != matrix.Entailed && j.Word != matrix.Contradicted && j.Word != matrix.Absent {
		return errors.New(`"word" of the judge's answer is none of entailed, contradicted, absent`)
	}
	if err := o.read("quote", &quote); err != nil && (j.Word != matrix.Absent || o["quote"] != nil && string(o["quote"]) != "null") {
		return err
	}
	quote = trimQuote(quote)
	if quote != "" {
		j.Quote = matrix.NewText(quote)
	}
	switch {
	case quote == "" && j.Word == matrix.Absent:
		return nil
	case !strings.ContainsFunc(quote, letterOrDigit):
		return fmt.Errorf("the judge says %s and quotes nothing", j.Word)
	case !NewSpan(quote).Match(answer).Folded:
		return errors.New("the quote is not in the answer")
	}
	return nil
}

func letterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// trimQuote takes space and one pair of quotation marks from around a quote.
func trimQuote(quote string) string {
	quote = strings.TrimSpace(matrix.Clamp(quote, matrix.MaxAnswer))
	for _, marks := range []string{`""`, "''", "“”", "‘’", "«»"} {
		first, size := utf8.DecodeRuneInString(marks)
		last, _ := utf8.DecodeRuneInString(marks[size:])
		inner, opened := strings.CutPrefix(quote, string(first))
		if inner, closed := strings.CutSuffix(inner, string(last)); opened && closed {
			return strings.TrimSpace(inner)
		}
	}
	return quote
}

// readSentences reads a list of sentences; blank ones are none.
func readSentences(o object, key string, most int) ([]matrix.Text, error) {
	var sentences []string
	if err := o.read(key, &sentences); err != nil {
		return nil, err
	}
	out := []matrix.Text{}
	for _, s := range sentences {
		s = strings.TrimSpace(s)
		switch {
		case s == "":
			continue
		case len(s) > maxSentence:
			return nil, fmt.Errorf("one of the %s is over %d bytes", key, maxSentence)
		case len(out) == most:
			return nil, fmt.Errorf("there are more than %d %s", most, key)
		}
		out = append(out, matrix.NewText(matrix.Clamp(s, maxSentence)))
	}
	return out, nil
}

// readNumbered reads one judgement for each of n statements: none left out, none given twice with another word.
func readNumbered(o object, n int) ([]bool, error) {
	var list []struct {
		Number    *int  `json:"number"`
		Supported *bool `json:"supported"`
	}
	if err := o.read("judgements", &list); err != nil {
		return nil, err
	}
	out, seen := make([]bool, n), make([]bool, n)
	for _, e := range list {
		switch {
		case e.Number == nil || e.Supported == nil:
			return nil, errors.New("a judgement lacks its number or its word")
		case *e.Number < 1 || *e.Number > n:
			return nil, fmt.Errorf("there is no statement %d", *e.Number)
		case seen[*e.Number-1] && out[*e.Number-1] != *e.Supported:
			return nil, fmt.Errorf("statement %d is judged both ways", *e.Number)
		}
		out[*e.Number-1], seen[*e.Number-1] = *e.Supported, true
	}
	for i, judged := range seen {
		if !judged {
			return nil, fmt.Errorf("statement %d is not judged", i+1)
		}
	}
	return out, nil
}
