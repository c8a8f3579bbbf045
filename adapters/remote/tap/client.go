package tap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client asks a [Proxy]. Its errors are those of the transport, or a *Refused.
type Client struct {
	URL  string       // of the proxy, without a path
	Key  string       // of its control endpoints; "": none
	HTTP *http.Client // nil: http.DefaultClient
}

// Refused is what a proxy answers to a request that it does not grant.
type Refused struct {
	Status int
	Says   string
}

func (r *Refused) Error() string { return fmt.Sprintf("the tap answers %d: %s", r.Status, r.Says) }

// Open announces a request, and what is to be substituted in its prompt; nil: nothing.
func (c *Client) Open(ctx context.Context, id string, s *Substitution) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPut, id, body, nil)
}

// Close ends an announced request. Calls that come later with its id are recorded, and nothing is substituted in them.
func (c *Client) Close(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, id, nil, nil)
}

// Recorded returns what is known of a request.
func (c *Client) Recorded(ctx context.Context, id string) (Request, error) {
	var r Request
	return r, c.do(ctx, http.MethodGet, id, nil, &r)
}

func (c *Client) do(ctx context.Context, method, id string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+controlPath+"requests/"+url.PathEscape(id), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		var said struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(data, &said) != nil || said.Error.Message == "" {
			said.Error.Message = "this is no tap"
		}
		return &Refused{response.StatusCode, said.Error.Message}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}
