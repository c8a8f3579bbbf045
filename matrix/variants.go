package matrix

import (
	"fmt"
	"slices"
)

// Probes of D beside the perturbations: curves over contexts of seeded items. They are run where Runs asks for them.
const (
	NoiseCurve    = "noise"    // gold and n seeded items behind it
	GoldPositions = "position" // gold at one place among a fixed number of seeded items
)

// Swap is a fact of a gold text, and what was put in its place: "30 days" and "47 days".
type Swap struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// SeededItems is how many seeded items the largest context of the probes needs.
func (r *Runs) SeededItems() int { return max(slices.Max(append([]int{0}, r.Noise...)), r.Positions-1) }

// expandProbes lists the cells of the noise curve, by the number of items, and those of the positions, from the front.
func expandProbes(e *Experiment, c *Case) []PlannedCell {
	if !c.HasGold() {
		return nil
	}
	var cells []PlannedCell
	add := func(variant string, subject, items, place int, change string) {
		cells = append(cells, PlannedCell{
			Cell: CellID(fmt.Sprintf("D/%s:%d", variant, subject)), Base: CellB, Expect: ExpectInvariant, Condition: IfGoldOffered,
			Change: change, Seeded: items, Place: place,
		})
	}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(e.Runs.Noise))) {
		items := "one seeded item is"
		if n > 1 {
			items = fmt.Sprintf("%d seeded items are", n)
		}
		add(NoiseCurve, n, n, 1, items+" added behind the gold")
	}
	for place := 1; place <= e.Runs.Positions; place++ {
		add(GoldPositions, place, e.Runs.Positions-1, place, fmt.Sprintf("the gold stands at place %d of %d, among seeded items", place, e.Runs.Positions))
	}
	return cells
}
