package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// Executions of one second sort by age, however many there are.
func TestExecutionsOfOneSecond(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	var ids []ExecutionID
	for range 200 {
		e, err := NewExecution(out, "travel-policy", testTime)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID())
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.IsSorted(ids) {
		t.Errorf("ids are not in order: %q", ids)
	}
	if first, last := ids[0].Time(), ids[len(ids)-1].Time(); last.Sub(first).Seconds() > 1 {
		t.Errorf("200 executions of one second are told from %s to %s", first, last)
	}
	// Where the newest execution bears the next second already, those that follow stand behind it.
	late := ExecutionID(testTime.Add(time.Second).Format(stampLayout) + "-k3f9qa")
	if err := os.Mkdir(filepath.Join(out, string(late)), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := NewExecution(out, "travel-policy", testTime)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil || e.ID() <= late {
		t.Errorf("behind %s comes %s, %v", late, e.ID(), err)
	}
	// Behind the last id of a second comes the next second.
	end := ExecutionID(testTime.Format(stampLayout) + "-zzzzzz")
	id, err := idBehind(end, "travel-policy", testTime)
	if err != nil || id <= end || id.Time().Sub(testTime).Seconds() != 1 {
		t.Errorf("behind %s comes %s, %v", end, id, err)
	}
}

// Executions that end and begin side by side do not take each other's folder of work away.
func TestWorkOfManyAtOnce(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for n := range 10 {
				e, err := NewExecution(out, "travel-policy", testTime)
				if err != nil {
					t.Error(err)
					return
				}
				b := testBundle(t, fmt.Sprintf("case-%d-%d", i, n), 1)
				if _, err := writeCase(e, b, false); err != nil {
					t.Error(err)
				}
				if err := e.Finish(Summary{}); err != nil {
					t.Error(err)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}
