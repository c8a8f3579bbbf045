package matrix

// Asked counts what one record asked of the backend in one role. A count of tokens that is nil was told by no answer.
type Asked struct {
	Role        string `json:"role"`
	Calls       int    `json:"calls,omitempty"`  // with every further try
	Reused      int    `json:"reused,omitempty"` // answers of an identical call, which were not asked for again
	Input       *int64 `json:"input_tokens,omitempty"`
	CachedInput *int64 `json:"cached_input_tokens,omitempty"`
	Output      *int64 `json:"output_tokens,omitempty"`
	Searches    int64  `json:"searches,omitempty"` // that a reranker counts
	Untold      int    `json:"untold,omitempty"`   // calls that may have to be paid for, and whose tokens are not known
	Unpaid      int    `json:"unpaid,omitempty"`   // calls that nobody has to pay for: they never arrived, or were refused
}

// Add adds what was asked of the backend of the same role.
func (a *Asked) Add(b Asked) {
	a.Calls += b.Calls
	a.Reused += b.Reused
	a.Searches += b.Searches
	a.Untold += b.Untold
	a.Unpaid += b.Unpaid
	addCount(&a.Input, b.Input)
	addCount(&a.CachedInput, b.CachedInput)
	addCount(&a.Output, b.Output)
}

func addCount(sum **int64, n *int64) {
	if n == nil {
		return
	}
	total := *n
	if *sum != nil {
		total += **sum
	}
	*sum = &total
}

// AddAsked adds what was asked to the entry of its role, behind the others where it is the first.
func AddAsked(list []Asked, more ...Asked) []Asked {
next:
	for _, a := range more {
		for i := range list {
			if list[i].Role == a.Role {
				list[i].Add(a)
				continue next
			}
		}
		list = append(list, Asked{Role: a.Role})
		list[len(list)-1].Add(a)
	}
	return list
}

// AllAsked is what the retrieval asked of each backend: where nothing is recorded, one search, and nothing where it was not made. A call
// that was tried before it was left out keeps what was asked; so it is with the others.
func (r *Retrieval) AllAsked() []Asked {
	switch {
	case r.Status == StatusNotRun || r.Reason == SearchedNothing:
		return r.Asked
	case len(r.Asked) > 0:
		return r.Asked
	case r.By != "":
		return nil // it is told by a trial
	}
	return []Asked{{Role: RoleStore, Calls: 1}}
}

// AllAsked is what the trial asked of the generator: nothing where it was not run, or has the answer to an identical request.
func (t *Trial) AllAsked() []Asked {
	switch {
	case t.Status == StatusNotRun && t.Attempts == 0 || t.Cached:
		return nil
	case t.SameAs != "":
		return []Asked{{Role: RoleGenerator, Reused: 1}}
	}
	asked := askedOf(RoleGenerator, t.Attempts, &t.Usage)
	asked.Untold, asked.Unpaid = t.Untold, t.Unpaid
	return []Asked{asked}
}

// askedOf is what was asked of a model in some attempts, which used so much.
func askedOf(role string, attempts int, u *Usage) Asked {
	return Asked{
		Role: role, Calls: max(1, attempts),
		Input: widened(u.InputTokens), CachedInput: widened(u.CachedInputTokens), Output: widened(u.OutputTokens),
	}
}

func widened(n *int) *int64 {
	if n == nil {
		return nil
	}
	wide := int64(*n)
	return &wide
}

// AllAsked is what the rewriting asked of the generator: nothing where it was not made.
func (r *Rewriting) AllAsked() []Asked {
	switch {
	case r == nil:
		return nil
	case r.Status == StatusNotRun:
		return r.Asked
	case len(r.Asked) > 0:
		return r.Asked
	}
	return []Asked{askedOf(RoleGenerator, r.Attempts, &r.Usage)}
}

// AllAsked is what the judgement asked of each backend: nothing where it was not made, or is that of an identical request.
func (j *Judgement) AllAsked() []Asked {
	switch {
	case j.SameAs != "":
		return nil
	case j.Status == StatusNotRun:
		return j.Asked
	case len(j.Asked) > 0:
		return j.Asked
	}
	return []Asked{askedOf(RoleJudge, j.Attempts, &j.Usage)}
}

// Asked is what the case asked of each backend.
func (o *Observations) Asked() []Asked {
	all := AddAsked(nil, o.Rewriting.AllAsked()...)
	for i := range o.Retrievals {
		all = AddAsked(all, o.Retrievals[i].AllAsked()...)
	}
	if c := o.Store.RerankControl; c != nil {
		all = AddAsked(all, c.Asked...)
	}
	for i := range o.Trials {
		all = AddAsked(all, o.Trials[i].AllAsked()...)
	}
	for i := range o.Judgements {
		all = AddAsked(all, o.Judgements[i].AllAsked()...)
	}
	return all
}

// Counts are what a price is for.
func (a *Asked) Counts() Counts {
	return Counts{Input: counted(a.Input), CachedInput: counted(a.CachedInput), Output: counted(a.Output), Searches: a.Searches}
}

func counted(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
