package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/results"
)

var stateMarks = map[results.State]string{
	results.StateIntact: markPass, results.StateBroken: markFail, results.StateMalformed: markFail,
	results.StatePolicy: markUnknown, results.StateEvaluator: markBetween,
}

var stateNames = map[results.State]string{
	results.StateIntact: "intact", results.StateBroken: "not intact", results.StateMalformed: "cannot be read as a bundle",
	results.StatePolicy: "intact, and not what was asked for", results.StateEvaluator: "intact, sealed by another evaluator",
}

// Verified draws a line for each bundle, with all that is wrong with it below, and then what that proves and what it does not.
func Verified(w io.Writer, all []*results.Verification, o Options) error {
	p := newPage(o, runLabels)
	widest := 0
	for _, v := range all {
		widest = max(widest, columns(fitID(nameOf(v.Path), maxName)))
	}
	paths := make([]string, len(all))
	for i, v := range all {
		paths[i] = v.Path
	}
	for i, v := range all {
		p.folderOf(paths, i)
		p.verified(v, widest)
	}
	p.blank()
	p.proves(Proves(all))
	return p.flush(w)
}

const maxProblems = 40 // of one bundle that are listed

// folderOf names the folder of the next bundle, where bundles of several stand in a list: each has a bundle of the same case.
func (p *page) folderOf(paths []string, i int) {
	several := slices.ContainsFunc(paths, func(path string) bool { return filepath.Dir(path) != filepath.Dir(paths[0]) })
	if !several || i > 0 && filepath.Dir(paths[i]) == filepath.Dir(paths[i-1]) {
		return
	}
	if i > 0 {
		p.blank()
	}
	p.line(p.dim(Safe(filepath.Dir(paths[i]))))
}

// nameOf is the name of a bundle's file, which in a folder of bundles is the case's. The folder ".", which has no name, is told by its own.
func nameOf(path string) string {
	if whole, err := filepath.Abs(path); err == nil && filepath.Clean(path) == "." {
		path = whole
	}
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".zip"), ".bundle")
}

// otherCase names the case of a bundle whose file does not: who renames one would else choose what a reviewer reads.
func otherCase(path, id string) []string {
	if id == "" || id == nameOf(path) {
		return nil
	}
	return []string{"case " + fitID(id, maxName)}
}

func (p *page) verified(v *results.Verification, widest int) {
	parts := []string{p.mark(stateMarks[v.State]) + " " + p.bold(pad(fitID(nameOf(v.Path), maxName), widest)), stateNames[v.State]}
	parts = append(parts, otherCase(v.Path, v.Case)...)
	switch {
	case v.Remade != "":
		parts = append(parts, "sealed as "+fit(v.Verdict, maxName), "made again "+fit(v.Remade, maxName))
	case v.Verdict != "":
		parts = append(parts, fit(v.Verdict, maxName))
	}
	if v.Files > 0 {
		parts = append(parts, counted(v.Files, "file", "files")+", "+bytesOf(v.Bytes))
	}
	if v.Withheld > 0 {
		parts = append(parts, "withheld: "+counted(v.Withheld, "file", "files"))
	}
	if v.Migrated != "" {
		parts = append(parts, migratedFrom(v.Migrated))
	}
	if v.Packed {
		parts = append(parts, "packed again")
	}
	if v.Reenacted != "" {
		parts = append(parts, "re-enacted of "+fit(v.Reenacted, maxStage)+": nobody was asked")
	}
	if v.InDoubt > 0 {
		parts = append(parts, counted(v.InDoubt, "call", "calls")+" in doubt")
	}
	for _, by := range v.SignedBy {
		parts = append(parts, "signed by "+Safe(by.String()))
	}
	p.flow("", "   ", parts)
	if len(v.Problems) > 0 {
		p.unwrapped("in", Safe(v.Path))
	}
	if v.Packed && v.State != results.StateMalformed && v.State != results.StateBroken {
		p.labelled("form", "another program has compressed it: the file is not the one that was sealed; what it holds is held to its seal all the same")
		p.unwrapped("", "→ culprit redact "+Safe(v.Path)+" --max-sensitivity restricted --out FOLDER")
		p.labelled("", "writes the file that was sealed, byte for byte")
	}
	for i, problem := range v.Problems {
		if i == maxProblems {
			p.labelled("", fmt.Sprintf("and %d more: --json lists them", len(v.Problems)-i))
			break
		}
		label := ""
		if i == 0 || v.Problems[i-1].Step != problem.Step {
			label = problem.Step
		}
		p.labelled(label, problem.String())
		if i+1 == len(v.Problems) || v.Problems[i+1].Step != problem.Step {
			p.labelled("", "→ "+problem.Do)
		}
	}
}

// bytesOf writes a size as a person reads it.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return counted(int(n), "byte", "bytes")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func (p *page) proves(proves, not []string) {
	if len(proves) == 0 {
		p.bullets("proves", []string{"nothing"})
		return
	}
	p.bullets("proves", proves)
	p.bullets("does not", not)
}

// Proves says what follows from verifications, and what does not.
func Proves(all []*results.Verification) (proves, not []string) {
	intact, derived, sealedFeatures, trials, again, signed, packed, migrated := 0, 0, 0, 0, 0, 0, 0, 0
	var signers []string
	signedBy := map[string]int{}
	for _, v := range all {
		if v.State != results.StateBroken && v.State != results.StateMalformed {
			intact++
			if v.Packed {
				packed++
			}
			if v.Migrated != "" {
				migrated++
			}
			switch {
			case v.Derived && v.Withheld > 0:
				derived, sealedFeatures, trials, again = derived+1, sealedFeatures+1, trials+v.Trials, again+v.Again
			case v.Derived:
				derived++
			}
			if len(v.SignedBy) > 0 {
				signed++
			}
			for _, by := range v.SignedBy {
				if signedBy[by.String()]++; signedBy[by.String()] == 1 {
					signers = append(signers, by.String())
				}
			}
		}
	}
	of := func(n int) string {
		if len(all) == 1 {
			return "the bundle"
		}
		return fmt.Sprintf("%d of %s", n, counted(len(all), "bundle", "bundles"))
	}
	if intact > 0 {
		proves = append(proves, of(intact)+": no byte was changed, added or taken away since the manifest was written, and what is inside belongs together")
	}
	if n := derived - sealedFeatures; n > 0 {
		proves = append(proves, of(n)+": the verdict follows from what was observed; made again by this program, it is the same bytes")
	}
	if sealedFeatures > 0 {
		proves = append(proves, of(sealedFeatures)+fmt.Sprintf(": the verdict follows from the sealed features; %d of %s features were made again from texts that are here", again, counted(trials, "trial's", "trials'")))
		if again < trials {
			not = append(not, of(sealedFeatures)+": that the sealed features follow from the texts that are withheld")
		}
	}
	if migrated > 0 {
		not = append(not, of(migrated)+": that the verdict is the one that was sealed first: it was migrated from another bundle, and made anew")
	}
	if packed > 0 {
		not = append(not, of(packed)+": that its file is the one that was sealed, or holds nothing between its members: it was packed again")
	}
	for _, by := range signers {
		proves = append(proves, of(signedBy[by])+": signed with the key "+Safe(by))
	}
	if n := intact - derived; n > 0 {
		not = append(not, of(n)+": that the verdict follows from what was observed; another evaluator made it")
	}
	if signed > 0 {
		not = append(not, "when it was signed, and that nobody else has the key")
	}
	if signed < len(all) {
		not = append(not, "who sealed it, and when: whoever can write the file can write a manifest for it")
	}
	return proves, append(not,
		"that case/case.yaml says what case/resolved.json does: it is under the seal alone",
		"that the store and the model said what is recorded, or would say it again",
		"that what was sent is what was asked, byte for byte: of requests, and of what a store or a service answered, only what was read is kept",
		"that an item which a budget left out did not fit, or that one which a cell puts in from the store stands there",
		"that the verdict is right, or that the case asks what matters",
		"that there was no other execution, of which nothing is shown",
	)
}
