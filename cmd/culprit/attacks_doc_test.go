package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table of attacks has a row for each, that of faults tests for each, and the tests that they name are there.
func TestAttacksAreTried(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|.*\| ([^|]* Test[^|]*) \|$`).FindAllStringSubmatch(string(page), -1)
	if len(rows) != 24 {
		t.Fatalf("%d rows name tests", len(rows))
	}
	tried := 0
	attacks, faults, _ := strings.Cut(string(page), "\n# Faults")
	if strings.Contains(attacks, "| fault |") {
		t.Error("faults stand among the attacks")
	}
	for _, fault := range regexp.MustCompile(`(?m)^\| ([^|-][^|]*) \|[^|]*\| ([^|]* Test[^|]*) \|$`).FindAllStringSubmatch(faults, -1) {
		rows = append(rows, []string{"", fault[1], fault[2]})
	}
	if lines := strings.Count(faults, "\n| ") - 1; len(rows) != 24+lines || lines < 12 {
		t.Errorf("%d faults, and %d of them name tests", lines, len(rows)-24)
	}
	for _, row := range rows {
		for name := range strings.SplitSeq(row[2], ", ") {
			folder, test, named := strings.Cut(name, " ")
			if !named {
				continue
			}
			tried++
			if !hasTest(t, filepath.Join("../..", folder), test) {
				t.Errorf("%s: %s has no %s", row[1], folder, test)
			}
		}
	}
	if tried < 25 {
		t.Errorf("only %d tests are named", tried)
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "func "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
