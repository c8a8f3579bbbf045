package qdranttest

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/qdrant/go-client/qdrant"
)

func TestServerKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{
		"plain": {}, "old wire": {Wire: "data", Version: "1.16.3"}, "key and TLS": {APIKey: "the key", TLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, options)
			collection := s.Name(t)
			s.Create(t, Collection{
				Name:    collection,
				Vectors: map[string]*qdrant.VectorParams{"": {Size: 2, Distance: qdrant.Distance_Dot}},
				Indexes: map[string]qdrant.FieldType{"source": qdrant.FieldType_FieldTypeKeyword},
			})
			point := &qdrant.PointStruct{Id: qdrant.NewIDNum(7), Vectors: qdrant.NewVectors(3, 4), Payload: qdrant.NewValueMap(map[string]any{"source": "a"})}
			s.Upsert(t, collection, point)
			s.Alias(t, collection+"-alias", collection)
			client := s.Client(t)
			got, err := client.Get(t.Context(), &qdrant.GetPoints{
				CollectionName: collection + "-alias", Ids: []*qdrant.PointId{point.GetId()},
				WithPayload: qdrant.NewWithPayload(true), WithVectors: qdrant.NewWithVectors(true),
			})
			if err != nil || len(got) != 1 || got[0].GetPayload()["source"].GetStringValue() != "a" {
				t.Fatalf("got %v, %v", got, err)
			}
			vector := got[0].GetVectors().GetVector()
			if v := vector.GetDenseVector().GetData(); len(v) != 2 || v[0] != 3 || v[1] != 4 {
				t.Errorf("the vector is %v", v)
			}
			if old := vector.GetVector() == nil; External() == nil && old != (options.Wire == "data") {
				t.Errorf("old wire form: %t", old)
			}
			s.Delete(t, collection, point.GetId())
			if n, err := client.Count(t.Context(), &qdrant.CountPoints{CollectionName: collection}); err != nil || n != 0 {
				t.Errorf("%d points are left, %v", n, err)
			}
		})
	}
}

func TestKeyIsRequired(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{APIKey: "right"})
	s.APIKey = "wrong"
	if _, err := s.Client(t).ListCollections(t.Context()); err == nil || !strings.Contains(err.Error(), "Unauthenticated") {
		t.Errorf("with the wrong key: %v", err)
	}
}

func TestCloseEndsTheServer(t *testing.T) {
	t.Parallel()
	Need(t)
	s, err := Launch(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if conn, err := net.Dial("tcp", s.Address); err == nil {
		conn.Close()
		t.Error("the port still answers")
	}
	if _, err := os.Stat(s.process.Dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestWithoutPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Launch(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "Python 3.10") {
		t.Errorf("%v, want an error that says what is missing", err)
	}
}
