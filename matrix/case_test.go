package matrix

import (
	"fmt"
	"testing"
)

func TestAuthorised(t *testing.T) {
	t.Parallel()
	asker := Principal{"tenant": {"acme"}, "groups": {"staff", "hr"}}
	tests := []struct {
		name     string
		as       Principal
		access   []string
		metadata map[string][]string
		want     bool
	}{
		{"an item that says nothing is open", asker, nil, nil, true},
		{"a shared group", asker, []string{"hr", "legal"}, nil, true},
		{"no shared group", asker, []string{"legal"}, nil, false},
		{"another tenant, even with a shared group", asker, []string{"hr"}, map[string][]string{"tenant": {"globex"}}, false},
		{"the same tenant", asker, nil, map[string][]string{"tenant": {"acme"}}, true},
		{"an attribute that the asker does not have does not matter", asker, nil, map[string][]string{"colour": {"blue"}}, true},
		{"the tenant may stand in the access list", asker, []string{"acme"}, nil, true},
		{"without an asker nothing is forbidden", nil, []string{"legal"}, map[string][]string{"tenant": {"globex"}}, true},
		{"an empty value of the item shares nothing", asker, nil, map[string][]string{"tenant": {}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.as.Authorised(tt.access, tt.metadata); got != tt.want {
				t.Errorf("want %t, got %t", tt.want, got)
			}
		})
	}
}

func TestFilterResolve(t *testing.T) {
	t.Parallel()
	as := Principal{"tenant": {"acme"}, "groups": {"staff", "hr"}}
	f := Filter{
		{Field: "tenant", AnyOf: []string{"{{as.tenant}}"}},
		{Field: "access", AnyOf: []string{"{{ as.groups }}", "public"}},
		{Field: "region", AnyOf: []string{"{{as.region}}"}},
		{Field: "tag", AnyOf: []string{"red", "{{query}}"}, Not: true},
		{Field: "year", AnyOf: []string{"2026"}, Typed: true},
	}
	want := `[{tenant [acme] false false} {access [staff hr public] false false} {region [] false false} {tag [red {{query}}] true false} {year [2026] false true}]`
	if got := fmt.Sprint(f.Resolve(as)); got != want {
		t.Errorf("want %s\n got %s", want, got)
	}
}

func TestParseBudget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Budget{"50 words": {50, "words"}, " 1500  tokens ": {1500, "tokens"}} {
		if got, err := ParseBudget(text); err != nil || got != want {
			t.Errorf("%q: want %v, got %v, %v", text, want, got, err)
		}
	}
	for _, bad := range []string{"", "50", "words", "-1 words", "0 words", "5 apples", "1.5 words", "50words", "99999999999999999999 words"} {
		if got, err := ParseBudget(bad); err == nil {
			t.Errorf("%q: want an error, got %v", bad, got)
		}
	}
}
