package weaviate

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// usualMost is what a server returns at most where it was not told otherwise.
const usualMost = 10_000

// tooMany says whether the server refused to return so many objects (QUERY_MAXIMUM_RESULTS).
func tooMany(err error) bool {
	var known *queryError
	return errors.As(err, &known) && strings.Contains(known.message, "query maximum results exceeded")
}

func (s *store) mostResults() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxResults
}

// learnMost finds the most that the server returns, which is below refused.
func (s *store) learnMost(ctx context.Context, c *class, tenant string, refused int) (int, error) {
	low, high := 0, refused // low is allowed, high is not
	for high-low > 1 {
		middle := low + (high-low)/2
		if low == 0 && high > usualMost+1 {
			middle = usualMost
		} else if low == usualMost {
			middle = usualMost + 1
		}
		var args arguments
		args.add("tenant", tenantArgument(tenant))
		args.add("offset", strconv.Itoa(middle-1))
		args.add("limit", "1")
		_, err := s.query(ctx, "Get", c.name, document("Get", c.name, args, selection(nil, "id")))
		switch {
		case err == nil:
			low = middle
		case tooMany(err):
			high = middle
		default:
			return 0, err
		}
	}
	if low == 0 {
		return 0, problemf(adapters.KindPermanent, "the server returns no results at all: its QUERY_MAXIMUM_RESULTS is 0")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxResults = low
	return low, nil
}
