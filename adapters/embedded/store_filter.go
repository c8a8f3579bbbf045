package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// Fields of a condition that are not metadata.
const (
	fieldID       = "id"
	fieldSource   = "source"
	fieldRevision = "revision"
	fieldAccess   = "access"
)

func reserved(field string) bool {
	return field == fieldID || field == fieldSource || field == fieldRevision || field == fieldAccess
}

// clause is a condition on the item "i" in SQL, with its arguments. The zero value always holds.
type clause struct {
	sql  []string
	args []any
}

func (c *clause) and(sql string, args ...any) {
	c.sql = append(c.sql, sql)
	c.args = append(c.args, args...)
}

// String is the clause as the end of a WHERE that already has a condition.
func (c *clause) String() string {
	var b strings.Builder
	for _, sql := range c.sql {
		b.WriteString(" AND ")
		b.WriteString(sql)
	}
	return b.String()
}

// list is a parameter for a list of strings, read with json_each: one statement for lists of any length.
func list(of []string) string {
	text, err := json.Marshal(of)
	if err != nil {
		panic(fmt.Sprintf("a list of strings cannot be written: %v", err))
	}
	return string(text)
}

const inList = `IN (SELECT value FROM json_each(?))`

// condition adds one condition of a filter. A column that is empty is a field that the item does not have. Documents have no
// types here: a number or a boolean is the text that it is written as, and a condition that is Typed compares these texts, so
// that 3 finds "3" and not "3.0".
func (c *clause) condition(cond adapters.Condition) {
	not := ""
	if cond.Not {
		not = "NOT "
	}
	switch {
	case len(cond.AnyOf) == 0 && cond.Not:
	case len(cond.AnyOf) == 0:
		c.and("0")
	case cond.Field == fieldID, cond.Field == fieldSource, cond.Field == fieldRevision:
		c.and(fmt.Sprintf("%[1]s(i.%[2]s <> '' AND i.%[2]s %[3]s)", not, cond.Field, inList), list(cond.AnyOf))
	default:
		c.and(fmt.Sprintf("i.n %sIN (SELECT n FROM attr WHERE field = ? AND value %s)", not, inList), cond.Field, list(cond.AnyOf))
	}
}

// noText holds for a value that reads as a number or a boolean.
const noText = `CASE WHEN json_valid(value) THEN json_type(value) IN ('true', 'false', 'integer', 'real') ELSE 0 END`

// filter returns the request's filter as the store applies it, faults and all.
func (s *store) filter(ctx context.Context, conditions []adapters.Condition) (clause, error) {
	var c clause
	fault := s.settings.Faults.Filter
	if fault == filterIgnored {
		return c, nil
	}
	for _, cond := range conditions {
		if fault == filterOpen && len(cond.AnyOf) == 0 {
			continue
		}
		c.condition(cond)
		if fault == filterTexts && !slices.Contains([]string{fieldID, fieldSource, fieldRevision}, cond.Field) {
			c.and("i.n NOT IN (SELECT n FROM attr WHERE field = ? AND "+noText+")", cond.Field)
		}
	}
	if fault != filterOpen || len(c.sql) == 0 {
		return c, nil
	}
	var found bool
	err := s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM item i WHERE i.collection = ?`+c.String()+`)`,
		slices.Concat([]any{s.here.Number}, c.args)...).Scan(&found)
	if err != nil || found {
		return c, err
	}
	return clause{}, nil
}
