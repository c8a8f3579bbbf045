package weaviatetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/google/uuid"
	weaviate "github.com/weaviate/weaviate-go-client/v4/weaviate"
	"github.com/weaviate/weaviate/entities/models"
)

// clients are kept for good: the finalizer of a client's connection never ends, and would stop every other one.
var clients = struct {
	sync.Mutex
	of map[Server]*weaviate.Client
}{of: map[Server]*weaviate.Client{}}

// Client returns an official client that may write.
func (s Server) Client(t testing.TB) *weaviate.Client {
	t.Helper()
	clients.Lock()
	defer clients.Unlock()
	if client := clients.of[s]; client != nil {
		return client
	}
	config := weaviate.Config{
		Host: s.Address, Scheme: "http",
		ConnectionClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}, // no connection outlives a test
	}
	if s.Key != "" {
		config.Headers = map[string]string{"Authorization": "Bearer " + s.Key}
	}
	client, err := weaviate.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	clients.of[s] = client
	return client
}

var names atomic.Int64

// ClassName returns a name for a class that no other test uses, on a server that was used before either.
func ClassName(t testing.TB) string {
	t.Helper()
	sum := sha256.Sum256([]byte(fmt.Sprint(t.Name(), names.Add(1), time.Now().UnixNano())))
	return fmt.Sprintf("T%x", sum[:8])
}

// ID returns the n-th of a fixed list of ids, whose order is not that of n.
func ID(n int) string {
	var seed [8]byte
	binary.BigEndian.PutUint64(seed[:], uint64(n))
	sum := sha256.Sum256(seed[:])
	id, err := uuid.FromBytes(sum[:16])
	if err != nil {
		panic(err) // sixteen bytes always are one
	}
	return id.String()
}

// Text is a text property with a tokenization: "word", "lowercase", "whitespace", "field", "trigram".
func Text(name, tokenization string) *models.Property {
	return &models.Property{Name: name, DataType: []string{"text"}, Tokenization: tokenization}
}

// Texts is a property that holds a list of texts.
func Texts(name, tokenization string) *models.Property {
	return &models.Property{Name: name, DataType: []string{"text[]"}, Tokenization: tokenization}
}

// Property is a property of another type, such as "int", "boolean" or "date".
func Property(name, dataType string) *models.Property {
	return &models.Property{Name: name, DataType: []string{dataType}}
}

// Unnamed is a class whose objects have one vector without a name, compared by the distance: "cosine", "dot", "l2-squared",
// "manhattan".
func Unnamed(name, distance string, properties ...*models.Property) *models.Class {
	return &models.Class{
		Class: name, Vectorizer: "none", VectorIndexType: "hnsw",
		VectorIndexConfig: map[string]any{"distance": distance}, Properties: properties,
	}
}

// Named is a class whose objects have vectors with names: name → distance.
func Named(name string, vectors map[string]string, properties ...*models.Property) *models.Class {
	config := map[string]models.VectorConfig{}
	for vector, distance := range vectors {
		config[vector] = models.VectorConfig{
			Vectorizer: map[string]any{"none": map[string]any{}}, VectorIndexType: "hnsw", VectorIndexConfig: map[string]any{"distance": distance},
		}
	}
	return &models.Class{Class: name, VectorConfig: config, Properties: properties}
}

// MultiTenant makes the class one of tenants. With activate, a read wakes up a tenant that is not active.
func MultiTenant(class *models.Class, activate bool) *models.Class {
	class.MultiTenancyConfig = &models.MultiTenancyConfig{Enabled: true, AutoTenantActivation: activate}
	return class
}

// Shards spreads the class over n shards.
func Shards(class *models.Class, n int) *models.Class {
	class.ShardingConfig = map[string]any{"desiredCount": n}
	return class
}

// Create makes the class, and removes it after the test.
func (s Server) Create(t testing.TB, class *models.Class) {
	t.Helper()
	client := s.Client(t)
	if err := client.Schema().ClassCreator().WithClass(class).Do(t.Context()); err != nil {
		t.Fatalf("creating class %q: %v", class.Class, err)
	}
	t.Cleanup(func() {
		if err := client.Schema().ClassDeleter().WithClassName(class.Class).Do(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("removing class %q: %v", class.Class, err)
		}
	})
}

// Tenants makes tenants, or changes their status: "ACTIVE" or "INACTIVE".
func (s Server) Tenants(t testing.TB, class, status string, tenants ...string) {
	t.Helper()
	known, err := s.Client(t).Schema().TenantsGetter().WithClassName(class).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, tenant := range known {
		exists[tenant.Name] = true
	}
	var add, change []models.Tenant
	for _, name := range tenants {
		if tenant := (models.Tenant{Name: name, ActivityStatus: status}); exists[name] {
			change = append(change, tenant)
		} else {
			add = append(add, tenant)
		}
	}
	if len(add) > 0 {
		err = s.Client(t).Schema().TenantsCreator().WithClassName(class).WithTenants(add...).Do(t.Context())
	}
	if err == nil && len(change) > 0 {
		err = s.Client(t).Schema().TenantsUpdater().WithClassName(class).WithTenants(change...).Do(t.Context())
	}
	if err != nil {
		t.Fatalf("tenants of class %q: %v", class, err)
	}
}

// TenantStatus returns the status that the server tells.
func (s Server) TenantStatus(t testing.TB, class, tenant string) string {
	t.Helper()
	known, err := s.Client(t).Schema().TenantsGetter().WithClassName(class).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range known {
		if found.Name == tenant {
			return found.ActivityStatus
		}
	}
	return ""
}

// Object is one object. Vector is the one without a name.
func Object(class, id string, properties map[string]any, vector []float32) *models.Object {
	return &models.Object{Class: class, ID: strfmt.UUID(id), Properties: properties, Vector: vector}
}

const batch = 500

// Insert writes objects over the HTTP interface; an object whose id exists takes its place.
func (s Server) Insert(t testing.TB, objects ...*models.Object) {
	t.Helper()
	for from := 0; from < len(objects); from += batch {
		part := objects[from:min(from+batch, len(objects))]
		results, err := s.Client(t).Batch().ObjectsBatcher().WithObjects(part...).Do(t.Context())
		if err != nil {
			t.Fatalf("inserting objects: %v", err)
		}
		for _, result := range results {
			if result.Result != nil && result.Result.Errors != nil {
				t.Fatalf("inserting object %s: %s", result.ID, result.Result.Errors.Error[0].Message)
			}
		}
	}
}

// Delete removes objects; the tenant is empty for a class without.
func (s Server) Delete(t testing.TB, class, tenant string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		request := s.Client(t).Data().Deleter().WithClassName(class).WithID(id)
		if tenant != "" {
			request = request.WithTenant(tenant)
		}
		if err := request.Do(t.Context()); err != nil {
			t.Fatalf("deleting object %s: %v", id, err)
		}
	}
}

const settleTime = 2 * time.Minute

// Settle waits until the server has written n objects of the class from its memory to segments. Until then 1.35.2 may lose the
// best objects of a keyword search with a small limit; a server that was not started here may take a minute.
func (s Server) Settle(t testing.TB, class string, n int64) {
	t.Helper()
	var counted int64
	for start := time.Now(); time.Since(start) < settleTime; time.Sleep(100 * time.Millisecond) { // the server tells nobody
		status, err := s.Client(t).Cluster().NodesStatusGetter().WithClass(class).WithOutput("verbose").Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counted = 0
		for _, node := range status.Nodes {
			for _, shard := range node.Shards {
				counted += shard.ObjectCount
			}
		}
		if counted == n {
			return
		}
	}
	t.Fatalf("class %q has %d objects in segments, want %d", class, counted, n)
}

// Update merges properties, and a vector where it is not nil, into an object.
func (s Server) Update(t testing.TB, class, tenant, id string, properties map[string]any, vector []float32) {
	t.Helper()
	request := s.Client(t).Data().Updater().WithMerge().WithClassName(class).WithID(id).WithProperties(properties)
	if tenant != "" {
		request = request.WithTenant(tenant)
	}
	if vector != nil {
		request = request.WithVector(vector)
	}
	if err := request.Do(t.Context()); err != nil {
		t.Fatalf("updating object %s: %v", id, err)
	}
}

// UpdateVector changes a vector that has a name.
func (s Server) UpdateVector(t testing.TB, class, tenant, id, name string, vector []float32) {
	t.Helper()
	request := s.Client(t).Data().Updater().WithMerge().WithClassName(class).WithID(id).WithProperties(map[string]any{}).WithVectors(models.Vectors{name: models.Vector(vector)})
	if tenant != "" {
		request = request.WithTenant(tenant)
	}
	if err := request.Do(t.Context()); err != nil {
		t.Fatalf("updating a vector of object %s: %v", id, err)
	}
}

// Alias makes an alias of the class, or lets it lead there, and removes it after the test.
func (s Server) Alias(t testing.TB, alias, class string) {
	t.Helper()
	if s.request(t, http.MethodPut, "/v1/aliases/"+alias, map[string]string{"class": class}) == nil {
		return
	}
	s.Raw(t, http.MethodPost, "/v1/aliases", map[string]string{"alias": alias, "class": class})
	t.Cleanup(func() {
		if err := s.request(t, http.MethodDelete, "/v1/aliases/"+alias, nil); err != nil {
			t.Errorf("removing alias %q: %v", alias, err)
		}
	})
}

// Raw makes a request that the client has no words for.
func (s Server) Raw(t testing.TB, method, path string, body any) {
	t.Helper()
	if err := s.request(t, method, path, body); err != nil {
		t.Fatal(err)
	}
}

func (s Server) request(t testing.TB, method, path string, body any) error {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, "http://"+s.Address+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the status says the most
		return fmt.Errorf("%s %s: status %d: %s", method, path, resp.StatusCode, text)
	}
	return nil
}
