package matrix

// Floor is the score below which an item is no nearer to a query than one that has nothing to do with it. It is measured on the
// experiment's own store, by culprit calibrate floor; a nil arm has none.
type Floor struct {
	Dense      *Decimal `json:"dense,omitempty"`
	Keyword    *Decimal `json:"keyword,omitempty"`     // of the keyword arm of a hybrid search
	Error      Decimal  `json:"error"`                 // the largest share of gold items that stands below it in every arm, at 95 %
	N          int      `json:"n"`                     // gold items that were measured
	EmbedModel string   `json:"embed_model,omitempty"` // of the queries that it was measured with
}

// Arm is the floor of one search mode, nil where there is none.
func (f *Floor) Arm(mode string) *Decimal {
	switch {
	case f == nil:
		return nil
	case mode == ModeDense:
		return f.Dense
	case mode == ModeKeyword:
		return f.Keyword
	}
	return nil
}

// Arms are the modes by which a search scores an item on its own: both of a hybrid search.
func (s Search) Arms() []string {
	if s.Mode == ModeHybrid {
		return []string{ModeDense, ModeKeyword}
	}
	return []string{s.Mode}
}

// ProbeOwn names the probe of C that asks one arm of a hybrid search for the gold items by name.
func ProbeOwn(mode string) CellID { return CellID("C/own-" + mode) }
