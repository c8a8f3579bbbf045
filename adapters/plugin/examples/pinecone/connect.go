package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
)

// maxMessage is the largest answer that is accepted; without it, the client takes 4 MiB.
const maxMessage = 64 << 20

// controlTime bounds a call of the control plane where the caller does not.
const controlTime = 30 * time.Second

// settings are the settings of the store, as its schema describes them.
type settings struct {
	Index      string `json:"index"`
	Namespace  string `json:"namespace"`
	APIKeyEnv  string `json:"api_key_env"`
	APIKeyFile string `json:"api_key_file"`
	Control    string `json:"control"`
	Host       string `json:"host"`
	Fields     fields `json:"fields"`
}

// fields name the metadata that have a meaning.
type fields struct {
	Text       string `json:"text"`
	Source     string `json:"source"`
	Revision   string `json:"revision"`
	Access     string `json:"access"`
	IndexedAt  string `json:"indexed_at"`
	UpdatedAt  string `json:"updated_at"`
	EmbedModel string `json:"embed_model"`
}

// open connects and asks the control plane for the index, so that a wrong setting fails here.
func open(ctx context.Context, cfg adapters.Config) (*store, error) {
	const op = "open"
	s := &store{set: settings{Control: "https://api.pinecone.io", Fields: fields{Text: "text"}}}
	decoder := json.NewDecoder(bytes.NewReader(cfg.Settings))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s.set); err != nil {
		return nil, fail(op, adapters.KindInvalid, fmt.Errorf("reading the settings: %w", err))
	}
	key, err := cfg.Secrets.Read("api_key", s.set.APIKeyEnv, s.set.APIKeyFile, cfg.Dir)
	if err == nil && key == "" {
		err = errors.New("api_key_env is missing: name the variable that holds the key, and let it through with env of the plugin")
	}
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	s.client, err = pinecone.NewClient(pinecone.NewClientParams{
		ApiKey: key, Host: s.set.Control, RestClient: &http.Client{Transport: reads{http.DefaultTransport}, Timeout: controlTime},
	})
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, fmt.Errorf("setting control %q: %w", s.set.Control, err))
	}
	if s.index, err = s.client.DescribeIndex(ctx, s.set.Index); err != nil {
		return nil, s.failed(op, err)
	}
	if s.index.VectorType == "sparse" || s.index.Dimension == nil {
		return nil, fail(op, adapters.KindUnsupported, fmt.Errorf("setting index: %q has sparse vectors, and the plugin searches dense ones", s.set.Index))
	}
	if _, ok := distances[s.index.Metric]; !ok {
		return nil, fail(op, adapters.KindUnsupported, fmt.Errorf("setting index: %q compares by %q, which the plugin does not know", s.set.Index, s.index.Metric))
	}
	host := cmp.Or(s.set.Host, s.index.Host)
	if err := address(host); err != nil {
		return nil, fail(op, adapters.KindInvalid, fmt.Errorf("setting host %q: %w", host, err))
	}
	s.conn, err = s.client.Index(pinecone.NewIndexConnParams{Host: host, Namespace: s.set.Namespace},
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)), grpc.WithChainUnaryInterceptor(guard))
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, fmt.Errorf("setting host %q: %w", host, err))
	}
	return s, nil
}

// address refuses what the client would end the program for.
func address(host string) error {
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	u, err := url.Parse(host)
	if err == nil && (u.Host == "" || strings.Trim(u.Path, "/") != "" || u.Scheme != "https" && u.Scheme != "http") {
		err = errors.New("it is not the address of an index, such as \"handbook-abc123.svc.region.pinecone.io\"")
	}
	return err
}
