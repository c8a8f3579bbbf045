package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// raw returns the bytes at a path below /v1.
func (s *store) raw(ctx context.Context, path string) ([]byte, error) {
	data, err := s.conn.RunREST(ctx, path, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	return data.Body, nil
}

func (s *store) get(ctx context.Context, path string, into any) error {
	data, err := s.raw(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return notJSON(s, path, err)
	}
	return nil
}

func notJSON(s *store, path string, err error) error {
	return problemf(adapters.KindInvalid, "the answer to %s is not what a Weaviate server sends (%w): check backends.store.address (%q)", path, err, s.set.Address)
}

// queryError is an error that came in the answer to a query, with status 200.
type queryError struct{ message string }

func (e *queryError) Error() string { return e.message }

// query runs a GraphQL document and returns what stands below Get or Aggregate for the class.
func (s *store) query(ctx context.Context, verb, class, document string) ([]any, error) {
	resp, err := s.graphql.Raw().WithQuery(document).Do(ctx)
	if err != nil {
		err = unwrapFault(err)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, problemf(adapters.KindTransient, "the answer to a query was cut: %w", err)
		}
		return nil, err
	}
	if len(resp.Errors) > 0 && resp.Errors[0] != nil {
		message := resp.Errors[0].Message
		return nil, &problem{kindOfMessage(message, adapters.KindPermanent), &queryError{message}}
	}
	below, ok := resp.Data[verb].(map[string]any)
	if !ok {
		return nil, problemf(adapters.KindPermanent, "the answer to a query has no %q", verb)
	}
	rows, ok := below[class].([]any)
	if !ok && below[class] != nil {
		return nil, problemf(adapters.KindPermanent, "the answer to a query has no list of %q", class)
	}
	return rows, nil
}

// explainQuery names the setting behind an error of a query.
func (s *store) explainQuery(c *class, err error) error {
	var known *queryError
	switch {
	case !errors.As(err, &known):
		return err
	case strings.Contains(known.message, "Cannot query field") && strings.Contains(known.message, "ObjectsObj"):
		return problemf(adapters.KindNotFound, "class %q is gone: check backends.store.collection: %w", c.name, err)
	case strings.Contains(known.message, "forbidden"):
		return fmt.Errorf("%w; %s", err, s.keyAdvice(http.StatusForbidden))
	}
	return err
}
