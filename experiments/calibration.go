package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// calibration reads the file that judge.calibration names in. It is false where that cannot be done, as was reported.
func (l *loader) calibration(root *node, value map[string]any) bool {
	judge, _ := value["judge"].(map[string]any)
	name, given := judge["calibration"].(string)
	if !given {
		return true
	}
	n, _ := root.find("judge", "calibration")
	f, ok := l.read(l.folder.resolve(n.dir(), name), n.at, "calibration", name, maxFile)
	if !ok {
		return false
	}
	c, err := readCalibration(f.data)
	if err != nil {
		l.fail(n.at, "calibration %s %s", show(name), err)
		return false
	}
	judge["calibration"] = c
	return true
}

func readCalibration(data []byte) (*matrix.Calibration, error) {
	var c matrix.Calibration
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	const what = "is none that culprit calibrate judge wrote"
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf(what+": %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New(what + ": something follows the object")
	}
	if c.Schema != matrix.CalibrationSchema {
		return nil, fmt.Errorf(what+": its schema is %s, and this version reads %s", show(c.Schema), matrix.CalibrationSchema)
	}
	if _, err := time.Parse(time.DateOnly, c.Date); err != nil {
		return nil, fmt.Errorf(what+": its date is %s", show(c.Date))
	}
	c.Shown = nil // it is worked out anew where it matters
	return &c, nil
}

// lintCalibration warns of a calibration that lets the judge decide nothing.
func (l *loader) lintCalibration(root *node, e *matrix.Experiment) {
	c := e.Judge.Calibration
	if c == nil {
		return
	}
	at := root.place("judge", "calibration")
	if !e.Judge.Claims {
		l.warn(at, "a calibrated judge decides claims, and claims is off: turn it on, or take calibration away")
	}
	if settings, err := e.JudgeSettings(); err == nil && settings != c.Judge.Settings && !root.lost("backends", judgeRole) {
		l.warn(at, "this calibration is of a judge with another backend or other settings: it decides nothing; calibrate this one")
	}
}
