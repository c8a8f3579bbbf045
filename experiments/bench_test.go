package experiments

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLoad1000Cases loads an experiment of 1,000 cases, each in a file of its own.
func BenchmarkLoad1000Cases(b *testing.B) {
	dir := folderOf(b, strings.Replace(minimal, "cases: [", "cases: [cases/*.yaml, ", 1))
	for i := range 1000 {
		write(b, filepath.Join(dir, "cases", fmt.Sprintf("case-%04d.yaml", i)), fmt.Sprintf(`id: case-%04d
query: When does the revised parental leave policy apply?
tags: {source: hr, language: en}
as: {tenant: acme, groups: [employees]}
evidence:
  required:
    - source: hr-leave-2026-section-2
      revision: 2026-07-01
      span: applies from 1 September 2026
  distractors:
    - {source: hr-leave-2024-section-2, kind: superseded}
claims:
  - id: effective-date
    says: The revised policy applies from 1 September 2026.
    any: ["1 September 2026", "/September 1(st)?, 2026/"]
  - {id: not-the-old-date, never: ["1 July 2024"]}
`, i))
	}
	options := Options{Schemas: schemas(b)}
	for b.Loop() {
		if loaded := load(b, dir, options); len(loaded.Cases) != 1001 {
			b.Fatal(len(loaded.Cases))
		}
	}
}

// BenchmarkDocuments reads 100,000 documents of JSONL; what is allocated at one time is the ids that were seen.
func BenchmarkDocuments(b *testing.B) {
	dir := b.TempDir()
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, `{"id": "c%d", "source": "handbook-%d", "text": %q, "tenant": "acme"}`+"\n", i, i/10, strings.Repeat("The policy applies to all employees. ", 10))
	}
	write(b, filepath.Join(dir, "corpus.jsonl"), text.String())
	set := documentsOf(b, dir, "documents: corpus.jsonl")
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		set.digest = ""
		if _, err := set.Digest(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
