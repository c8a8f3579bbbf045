package qdrant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// settings are the settings of the store, as its schema describes them.
type settings struct {
	Address         string           `json:"address"`
	TLS             adapters.TLS     `json:"tls"`
	APIKeyEnv       string           `json:"api_key_env"`
	APIKeyFile      string           `json:"api_key_file"`
	TokenEnv        string           `json:"token_env"`
	TokenFile       string           `json:"token_file"`
	Collection      string           `json:"collection"`
	Vector          string           `json:"vector"`
	Keyword         *keywordSettings `json:"keyword"`
	Hybrid          hybridSettings   `json:"hybrid"`
	HNSWEf          uint64           `json:"hnsw_ef"`
	IndexedOnly     bool             `json:"indexed_only"`
	ShardKey        shardKey         `json:"shard_key"`
	ReadConsistency readConsistency  `json:"read_consistency"`
	Fields          fieldSettings    `json:"fields"`
	Page            uint32           `json:"page"`
}

// keywordSettings say how a query becomes the vector of a keyword search.
type keywordSettings struct {
	Vector   string `json:"vector"`
	Encoder  string `json:"encoder"`
	Model    string `json:"model"`
	Language string `json:"language"`
}

// hybridSettings say how the two rankings of a hybrid search are fused.
type hybridSettings struct {
	Fusion   string `json:"fusion"`
	RRFK     uint32 `json:"rrf_k"`
	Prefetch int    `json:"prefetch"`
}

// fieldSettings name the payload fields that have a meaning; a dot leads into an object.
type fieldSettings struct {
	Text       string `json:"text"`
	Source     string `json:"source"`
	Revision   string `json:"revision"`
	Access     string `json:"access"`
	IndexedAt  string `json:"indexed_at"`
	UpdatedAt  string `json:"updated_at"`
	EmbedModel string `json:"embed_model"`
}

// The values of the enumerated settings.
const (
	encoderBM25 = "bm25"

	languageEnglish = "english"
	languageNone    = "none"
	encoderServer   = "server"
	serverModel     = "qdrant/bm25"
	fusionRRF       = "rrf"
	fusionDBSF      = "dbsf"
)

const (
	defaultPort = 6334
	defaultPage = 512
)

func readSettings(raw json.RawMessage) (settings, error) {
	s := settings{
		Hybrid: hybridSettings{Fusion: fusionRRF, RRFK: 60},
		Fields: fieldSettings{Text: "text"},
		Page:   defaultPage,
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("the settings go on after their JSON object")
	}
	if k := s.Keyword; k != nil {
		if k.Encoder == "" {
			k.Encoder = encoderBM25
		}
		if k.Model == "" {
			k.Model = serverModel
		}
		if k.Language == "" {
			k.Language = languageEnglish
		}
	}
	return s, s.check()
}

// check repeats what the schema says where a wrong value would do harm further on.
func (s *settings) check() error {
	switch {
	case s.Address == "":
		return errors.New("setting backends.store.address is missing: give the host and the gRPC port, as in \"localhost:6334\"")
	case s.Collection == "":
		return errors.New("setting backends.store.collection is missing: name a collection or an alias")
	case s.Fields.Text == "":
		return errors.New("setting backends.store.fields.text is empty: name the payload field that holds the text")
	case s.Page == 0:
		return errors.New("setting backends.store.page is 0 and must be at least 1")
	case s.Hybrid.Fusion != fusionRRF && s.Hybrid.Fusion != fusionDBSF:
		return fmt.Errorf("setting backends.store.hybrid.fusion: %q is neither rrf nor dbsf", s.Hybrid.Fusion)
	case s.Hybrid.RRFK == 0:
		return errors.New("setting backends.store.hybrid.rrf_k is 0 and must be at least 1")
	case s.Hybrid.Prefetch < 0:
		return fmt.Errorf("setting backends.store.hybrid.prefetch is %d and must not be negative", s.Hybrid.Prefetch)
	case s.Keyword != nil && s.Keyword.Vector == "":
		return errors.New("setting backends.store.keyword.vector is missing: name the sparse vector")
	case s.Keyword != nil && s.Keyword.Encoder != encoderBM25 && s.Keyword.Encoder != encoderServer:
		return fmt.Errorf("setting backends.store.keyword.encoder: %q is neither bm25 nor server", s.Keyword.Encoder)
	}
	_, _, err := s.hostPort()
	return err
}

// hostPort splits the address; an IPv6 host comes in the brackets that a URL of gRPC needs.
func (s *settings) hostPort() (host string, port int, err error) {
	wrong := func(why string) error {
		return fmt.Errorf("setting backends.store.address %q: %s; give the host and the gRPC port, as in \"localhost:6334\" or \"[::1]:6334\"", s.Address, why)
	}
	if strings.Contains(s.Address, "/") {
		return "", 0, wrong("it is a URL or a path")
	}
	host, number := s.Address, strconv.Itoa(defaultPort)
	if bare := net.ParseIP(strings.Trim(s.Address, "[]")); bare != nil {
		host = bare.String()
	} else if strings.Contains(s.Address, ":") {
		if host, number, err = net.SplitHostPort(s.Address); err != nil {
			return "", 0, wrong("it has no host and port")
		}
	}
	port, err = strconv.Atoi(number)
	if err != nil || port < 1 || port > 65535 || host == "" {
		return "", 0, wrong("it has no host and port")
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host, port, nil
}

// shardKey is a name or a number; nil asks every shard.
type shardKey struct{ key *qdrant.ShardKey }

// UnmarshalJSON reads either form.
func (k *shardKey) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		k.key = qdrant.NewShardKey(name)
		return nil
	}
	var number uint64
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("shard_key: %s is neither a string nor a number from 0", data)
	}
	k.key = qdrant.NewShardKeyNum(number)
	return nil
}

func (k shardKey) selector() *qdrant.ShardKeySelector {
	if k.key == nil {
		return nil
	}
	return &qdrant.ShardKeySelector{ShardKeys: []*qdrant.ShardKey{k.key}}
}

// readConsistency is a word or a number of replicas; nil is the server's default.
type readConsistency struct{ value *qdrant.ReadConsistency }

// UnmarshalJSON reads either form.
func (r *readConsistency) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		kinds := map[string]qdrant.ReadConsistencyType{
			"all": qdrant.ReadConsistencyType_All, "majority": qdrant.ReadConsistencyType_Majority, "quorum": qdrant.ReadConsistencyType_Quorum,
		}
		kind, ok := kinds[word]
		if !ok {
			return fmt.Errorf("read_consistency: %q is none of all, majority, quorum", word)
		}
		r.value = qdrant.NewReadConsistencyType(kind)
		return nil
	}
	var factor uint64
	if err := json.Unmarshal(data, &factor); err != nil || factor == 0 {
		return fmt.Errorf("read_consistency: %s is neither a word nor a number of replicas", data)
	}
	r.value = qdrant.NewReadConsistencyFactor(factor)
	return nil
}
