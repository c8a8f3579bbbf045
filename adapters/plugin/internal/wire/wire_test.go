package wire_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// trip returns what comes back of v when it has been on the wire.
func trip[T any, P any, M interface {
	*P
	proto.Message
}](t *testing.T, there func(T) M, back func(M) T, v T) {
	t.Helper()
	data, err := proto.Marshal(there(v))
	if err != nil {
		t.Fatal(err)
	}
	var m M = new(P)
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	notOnTheWire := func(p cmp.Path) bool { // see Capabilities
		return p.Last().String() == ".Local" || p.Last().String() == ".FilterStatistics"
	}
	if diff := cmp.Diff(v, back(m), cmp.FilterPath(notOnTheWire, cmp.Ignore())); diff != "" {
		t.Errorf("%T (-sent +come):\n%s", v, diff)
	}
}

// full returns a value of T none of whose fields, at any depth, is zero: a field that is added to a contract and forgotten here fails.
func full[T any]() T {
	var v T
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n)
	return v
}

func fill(v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 7, 1, 12, 0, *n, 123456789, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("é%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("a contract has a field of kind " + v.Kind().String())
	}
}

func TestEveryFieldCrossesTheWire(t *testing.T) {
	t.Parallel()
	trip(t, wire.Capabilities, wire.CapabilitiesOf, full[adapters.StoreCapabilities]())
	trip(t, wire.StoreInfo, wire.StoreInfoOf, full[adapters.StoreInfo]())
	trip(t, wire.Item, wire.ItemOf, full[adapters.Item]())
	trip(t, wire.SearchRequest, wire.SearchRequestOf, full[adapters.SearchRequest]())
	trip(t, wire.SearchResponse, wire.SearchResponseOf, full[adapters.SearchResponse]())
	trip(t, wire.ScanReport, wire.ScanReportOf, full[adapters.ScanReport]())
	trip(t, wire.EmbedderInfo, wire.EmbedderInfoOf, full[adapters.EmbedderInfo]())
	trip(t, wire.EmbedRequest, wire.EmbedRequestOf, full[adapters.EmbedRequest]())
	trip(t, wire.EmbedResponse, wire.EmbedResponseOf, full[adapters.EmbedResponse]())
	trip(t, wire.GeneratorInfo, wire.GeneratorInfoOf, full[adapters.GeneratorInfo]())
	trip(t, wire.GenerateRequest, wire.GenerateRequestOf, full[adapters.GenerateRequest]())
	trip(t, wire.GenerateResponse, wire.GenerateResponseOf, full[adapters.GenerateResponse]())
	trip(t, wire.RerankerInfo, wire.RerankerInfoOf, full[adapters.RerankerInfo]())
	trip(t, wire.RerankRequest, wire.RerankRequestOf, full[adapters.RerankRequest]())
	trip(t, wire.RerankResponse, wire.RerankResponseOf, full[adapters.RerankResponse]())
}

func TestWhatIsNotToldStaysApartFromZero(t *testing.T) {
	t.Parallel()
	zero, none, temperature, seed := 0, "", 0.0, int64(0)
	trip(t, wire.StoreInfo, wire.StoreInfoOf, adapters.StoreInfo{})
	trip(t, wire.StoreInfo, wire.StoreInfoOf, adapters.StoreInfo{QueryPrefix: &none, PassagePrefix: &none})
	trip(t, wire.Item, wire.ItemOf, adapters.Item{})
	trip(t, wire.SearchRequest, wire.SearchRequestOf, adapters.SearchRequest{Threshold: &temperature})
	trip(t, wire.SearchResponse, wire.SearchResponseOf, adapters.SearchResponse{Hits: []adapters.Hit{{Score: &temperature}, {}}})
	trip(t, wire.EmbedRequest, wire.EmbedRequestOf, adapters.EmbedRequest{Prefix: &none})
	trip(t, wire.GenerateRequest, wire.GenerateRequestOf, adapters.GenerateRequest{})
	trip(t, wire.GenerateRequest, wire.GenerateRequestOf, adapters.GenerateRequest{Temperature: &temperature, TopP: &temperature, Seed: &seed})
	trip(t, wire.GenerateResponse, wire.GenerateResponseOf, adapters.GenerateResponse{})
	trip(t, wire.GenerateResponse, wire.GenerateResponseOf, adapters.GenerateResponse{
		InputTokens: &zero, OutputTokens: &zero, CachedInputTokens: &zero, ReasoningTokens: &zero, Quota: &adapters.Quota{Tokens: &adapters.Allowance{}},
	})
	trip(t, wire.RerankResponse, wire.RerankResponseOf, adapters.RerankResponse{InputTokens: &zero})
}

func TestEveryKindOfErrorCrossesTheWire(t *testing.T) {
	t.Parallel()
	for _, kind := range []adapters.Kind{
		adapters.KindPermanent, adapters.KindTransient, adapters.KindRateLimited, adapters.KindUnauthorised, adapters.KindNotFound,
		adapters.KindUnsupported, adapters.KindInvalid, adapters.KindTooLong, adapters.KindTimeout, adapters.KindCanceled,
	} {
		want := adapters.Error{
			Adapter: "mine", Op: "search", Kind: kind, RetryAfter: 1500 * time.Millisecond,
			Quota: &adapters.Quota{Requests: &adapters.Allowance{Limit: 10, Left: 0, Reset: time.Second}}, Err: errors.New("näh"),
		}
		got := wire.Error("plugin", "other", wire.Status("plugin", "other", &want))
		if diff := cmp.Diff(want, *got, cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
			t.Errorf("%s (-sent +come):\n%s", kind, diff)
		}
	}
}

func TestCausesOfErrorsCrossTheWire(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		kind adapters.Kind
		want error
	}{
		{adapters.NewError("mine", "fetch", adapters.KindPermanent, adapters.ErrClosed), adapters.KindPermanent, adapters.ErrClosed},
		{fmt.Errorf("asking: %w", context.DeadlineExceeded), adapters.KindTimeout, context.DeadlineExceeded},
		{fmt.Errorf("asking: %w", context.Canceled), adapters.KindCanceled, context.Canceled},
		{fmt.Errorf("asking: %w", &adapters.Error{Adapter: "mine", Op: "x", Kind: adapters.KindNotFound, Err: errors.New("gone")}), adapters.KindNotFound, adapters.ErrNotFound},
	} {
		got := wire.Error("plugin", "fetch", wire.Status("mine", "fetch", tt.err))
		if got.Kind != tt.kind || !errors.Is(got, tt.want) {
			t.Errorf("%v comes as %v, want kind %q and %v", tt.err, got, tt.kind, tt.want)
		}
	}
}

func TestStatusCodesAloneTellTheKind(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]adapters.Kind{
		codes.InvalidArgument: adapters.KindInvalid, codes.OutOfRange: adapters.KindInvalid, codes.NotFound: adapters.KindNotFound,
		codes.Unimplemented: adapters.KindUnsupported, codes.Unauthenticated: adapters.KindUnauthorised, codes.PermissionDenied: adapters.KindUnauthorised,
		codes.ResourceExhausted: adapters.KindRateLimited, codes.Unavailable: adapters.KindTransient, codes.Aborted: adapters.KindTransient,
		codes.DeadlineExceeded: adapters.KindTimeout, codes.Canceled: adapters.KindCanceled, codes.Internal: adapters.KindPermanent,
		codes.Unknown: adapters.KindPermanent, codes.DataLoss: adapters.KindPermanent, codes.FailedPrecondition: adapters.KindPermanent,
	} {
		if got := wire.Error("plugin", "search", status.Error(code, "so")); got.Kind != want || got.Err.Error() == "" {
			t.Errorf("%s: %v, want kind %q", code, got, want)
		}
	}
	if got := wire.Error("plugin", "embed", status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)")); got.Kind != adapters.KindPermanent {
		t.Errorf("a message that is too large is %v, and would be tried again", got)
	}
}

func TestALongErrorIsCut(t *testing.T) {
	t.Parallel()
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = 0xff
	}
	if got := wire.Error("plugin", "search", wire.Status("mine", "search", errors.New(string(long)))); len(got.Err.Error()) > 9<<10 {
		t.Errorf("the error has %d bytes", len(got.Err.Error()))
	}
}

// FuzzError holds the decoder of errors to what a plugin may send: anything.
func FuzzError(f *testing.F) {
	good, err := proto.Marshal(&pluginv1.Error{Adapter: "a", Op: "b", Kind: pluginv1.Kind_KIND_RATE_LIMITED, Message: "c"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(codes.ResourceExhausted), "so", good)
	f.Add(uint32(99), "", []byte{0xff, 0x01})
	f.Fuzz(func(t *testing.T, code uint32, message string, detail []byte) {
		s := status.New(codes.Code(code), message).Proto()
		var d pluginv1.Error
		if proto.Unmarshal(detail, &d) == nil {
			if detailed, err := status.New(codes.Code(code), message).WithDetails(&d); err == nil {
				s = detailed.Proto()
			}
		}
		err := status.FromProto(s).Err()
		if err == nil {
			return
		}
		got := wire.Error("plugin", "search", err)
		if got.Adapter == "" || got.Op == "" || got.Kind == "" || got.Err == nil || got.RetryAfter < 0 {
			t.Errorf("%v comes as %+v", err, got)
		}
	})
}
