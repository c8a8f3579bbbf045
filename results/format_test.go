package results

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// FORMAT.md names every field of the summary.
func TestFormatNamesTheFieldsOfASummary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## `execution.json`\n")
	section, _, closed := strings.Cut(section, "\n## ")
	if !ok || !closed {
		t.Fatal("FORMAT.md has no section on execution.json")
	}
	seen := 0
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Summary](), reflect.TypeFor[Setup](), reflect.TypeFor[Counts](), reflect.TypeFor[StageCount](), reflect.TypeFor[Share](), reflect.TypeFor[Mean](),
		reflect.TypeFor[AnswerTotals](), reflect.TypeFor[Totals](), reflect.TypeFor[CaseSummary](), reflect.TypeFor[DefectSummary](), reflect.TypeFor[CellSummary](), reflect.TypeFor[RetrievalSummary](),
	} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			seen++
			if !strings.Contains(section, "`"+name+"`") && !strings.Contains(section, "`cases[]."+name) && !strings.Contains(section, "`"+name+"[]`") {
				t.Errorf("%s: %s is not named", typ.Name(), name)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d fields were looked at", seen)
	}
}
