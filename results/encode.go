package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Encode writes the summary as one JSON object and a line end, case by case, so that it takes no more memory for many cases
// than for few. Each write ends between two characters.
func (s *Summary) Encode(w io.Writer, indent string) error {
	frame := *s
	frame.Cases = []CaseSummary{}
	data, err := json.MarshalIndent(frame, "", indent)
	if err != nil {
		return err
	}
	// Within a string the quotation marks would be escaped, so this is the key.
	head, tail, ok := bytes.Cut(data, []byte(`"cases": []`))
	if !ok {
		return fmt.Errorf("summary without cases")
	}
	write := func(pieces ...[]byte) {
		for _, p := range pieces {
			if err == nil {
				_, err = w.Write(p)
			}
		}
	}
	write(head, []byte(`"cases": [`))
	prefix := "\n" + indent + indent
	for i := range s.Cases {
		if i > 0 {
			write([]byte(","))
		}
		one, caseErr := json.MarshalIndent(&s.Cases[i], indent+indent, indent)
		if caseErr != nil {
			return caseErr
		}
		write([]byte(prefix), one)
	}
	if len(s.Cases) > 0 {
		write([]byte("\n" + indent))
	}
	write([]byte("]"), tail, []byte("\n"))
	return err
}
