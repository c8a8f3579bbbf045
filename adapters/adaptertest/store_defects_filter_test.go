package adaptertest_test

import (
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
)

// conditions breaks a store by what it makes of each condition.
func conditions(change func(*adapters.Condition)) broken {
	return before(func(r *adapters.SearchRequest) {
		r.Filter = slices.Clone(r.Filter)
		for i := range r.Filter {
			change(&r.Filter[i])
		}
	})
}

var filterDefects = map[string]defect{
	"takes ids that cannot be for none given": {"filters", conditions(func(c *adapters.Condition) {
		c.Not = c.Not || slices.Contains(c.AnyOf, "no such id")
	})},
	"reads the first hundred values": {"filters", conditions(func(c *adapters.Condition) { c.AnyOf = c.AnyOf[:min(len(c.AnyOf), 100)] })},
	"takes numbers for strings": {"filters tell types", conditions(func(c *adapters.Condition) {
		c.Typed = adaptertest.FieldKind(c.Field) != adaptertest.KindString
	})},
	"knows no numbers":        {"filters tell types", conditions(func(c *adapters.Condition) { c.Typed = false })},
	"takes no for everything": {"filters tell types", conditions(func(c *adapters.Condition) { c.Not = c.Not && !c.Typed })},
	"shows a tenant what is nobody's": {"a tenant sees", conditions(func(c *adapters.Condition) {
		if slices.Contains(c.AnyOf, "globex") && !c.Not {
			*c = adapters.Condition{Field: c.Field, AnyOf: []string{"acme"}, Not: true}
		}
	})},
	"hides what is nobody's":        {"a tenant sees", conditions(func(c *adapters.Condition) { c.Not = false })},
	"shows everything to strangers": {"a tenant sees", conditions(func(c *adapters.Condition) { c.Not = c.Not || slices.Contains(c.AnyOf, "nobody") })},
	"filters no words": {"a tenant sees", before(func(r *adapters.SearchRequest) {
		if r.Mode == "keyword" {
			r.Filter = nil
		}
	})},
	"filters nothing that it fuses": {"filters", before(func(r *adapters.SearchRequest) {
		if r.Mode == "hybrid" {
			r.Filter = nil
		}
	})},
	"filters a part of what it fuses": {"a tenant sees", before(func(r *adapters.SearchRequest) {
		if r.Mode == "hybrid" && len(r.Filter) > 0 {
			r.Mode = "keyword"
		}
	})},
}
