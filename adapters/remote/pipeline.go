package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
	"github.com/culprit-rag/culprit/adapters/remote/tap"
)

type pipeline struct {
	*modelapi.Client
	set      settings
	request  *program
	response *program
	tap      *tap.Client // nil: none
	toTap    *http.Transport
	known    atomic.Pointer[adapters.PipelineInfo] // what was described last; nil: nothing yet
}

// answerLimit is the most of one answer that is read.
const answerLimit = 64 << 20

func openPipeline(_ context.Context, cfg adapters.Config) (adapters.Pipeline, error) {
	p, err := connect(cfg)
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, "%w", err)
	}
	return p, nil
}

// connect reads the settings. It makes no call.
func connect(cfg adapters.Config) (*pipeline, error) {
	set, err := readSettings(cfg.Settings)
	if err != nil {
		return nil, err
	}
	p := &pipeline{set: set}
	var tapKey string
	if p.request, err = compile("request", set.Map.Request); err != nil {
		return nil, err
	}
	if p.response, err = compile("response", set.Map.Response); err != nil {
		return nil, err
	}
	if t := set.Tap; t != nil {
		if tapKey, err = cfg.Secrets.Read(modelapi.Setting(role, "tap.key"), t.KeyEnv, "", cfg.Dir); err != nil {
			return nil, err
		}
		p.toTap = http.DefaultTransport.(*http.Transport).Clone()
		p.toTap.MaxIdleConnsPerHost = 1024
		p.tap = &tap.Client{URL: t.URL, Key: tapKey, HTTP: &http.Client{
			Transport:     p.toTap,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a tap sends nobody on
		}}
	}
	p.Client, err = modelapi.Connect(&modelapi.Server{
		Settings: set.Settings, Adapter: Name, Role: role, URL: set.URL, URLField: "url", Asked: "the place that backends.service.url names", TooLong: "what the service made of the request is",
	}, cfg, tapKey)
	return p, err
}

// Close ends calls under way.
func (p *pipeline) Close() error {
	if p.toTap != nil {
		p.toTap.CloseIdleConnections()
	}
	return p.Client.Close()
}

// Describe asks the service what it can be asked for, unless the settings say so. A service that has no such place can do the
// least: answer.
func (p *pipeline) Describe(ctx context.Context) (adapters.PipelineInfo, error) {
	ctx, leave, err := p.Enter(ctx, "describe")
	if err != nil {
		return adapters.PipelineInfo{}, err
	}
	defer leave()
	return p.describe(ctx)
}

func (p *pipeline) describe(ctx context.Context) (adapters.PipelineInfo, error) {
	const op = "describe"
	can := p.set.Capabilities
	if can == nil {
		address, _ := url.Parse(p.set.URL) // it was parsed before
		address.Path, address.RawQuery = strings.TrimSuffix(address.Path, "/")+capabilitiesSuffix, ""
		can = &capabilities{}
		body, err := p.call(ctx, op, http.MethodGet, address.String(), nil, "")
		switch {
		case errors.Is(err, adapters.ErrNotFound):
		case err != nil:
			return adapters.PipelineInfo{}, err
		default:
			if err := json.Unmarshal(body, can); err != nil {
				return adapters.PipelineInfo{}, p.Says(op, adapters.KindPermanent, "what %s answers cannot be read as capabilities: %v: say in backends.service.capabilities what the service can do", address, err)
			}
		}
	}
	info := adapters.PipelineInfo{Adapter: Name, Name: can.Name, Version: can.Version, Context: can.Context, Retrieval: can.Retrieval, Deterministic: p.set.Deterministic}
	if !info.Context && p.tap != nil && (p.set.Tap.Begin != "" || p.set.Tap.End != "") {
		info.Context, info.Through = true, "the tap at "+p.set.Tap.URL
	}
	if info.Name == "" {
		address, _ := url.Parse(p.set.URL)
		info.Name = address.Host
	}
	p.known.Store(&info)
	return info, nil
}

// able returns what the service declares, and refuses what it does not: a service that takes no context may answer from its own, and
// one that does not stop before the answer buys one. What every service can do needs no look at what it declares.
func (p *pipeline) able(ctx context.Context, op string, req *adapters.PipelineRequest) (info adapters.PipelineInfo, err error) {
	if req.Context == nil && req.Answer {
		return info, nil
	}
	if known := p.known.Load(); known != nil {
		info = *known
	} else if info, err = p.describe(ctx); err != nil {
		return info, err
	}
	switch {
	case req.Context != nil && !info.Context:
		return info, p.Says(op, adapters.KindUnsupported, "%s takes no context, as its capabilities or backends.service.capabilities say", info.Name)
	case !req.Answer && !info.Retrieval:
		return info, p.Says(op, adapters.KindUnsupported, "%s does not stop before the answer, as its capabilities or backends.service.capabilities say", info.Name)
	}
	return info, nil
}

// Ask makes one request. With a tap, the prompt is read there, and the context put in there where the service takes none.
func (p *pipeline) Ask(ctx context.Context, req adapters.PipelineRequest) (adapters.Trace, error) {
	const op = "ask"
	ctx, leave, err := p.Enter(ctx, op)
	if err != nil {
		return adapters.Trace{}, err
	}
	defer leave()
	if req.RequestID == "" {
		return adapters.Trace{}, fail(op, adapters.KindInvalid, "a request without an id")
	}
	info, err := p.able(ctx, op, &req)
	if err != nil {
		return adapters.Trace{}, err
	}
	var trace adapters.Trace
	if p.tap != nil && req.Answer {
		trace, err = p.tapped(ctx, op, req, info.Through != "")
	} else {
		trace, err = p.ask(ctx, op, req)
	}
	if err != nil {
		return adapters.Trace{}, err
	}
	finish, failed := modelapi.Finish(trace.FinishReason)
	if failed { // what it says then is often an apology
		return adapters.Trace{}, p.Says(op, adapters.KindTransient, "the generation broke off: the finish reason is %q, beside the answer %q", p.Short(trace.FinishReason), p.Short(trace.Answer))
	}
	trace.FinishReason = finish
	return trace, nil
}

// ask makes the request to the service itself.
func (p *pipeline) ask(ctx context.Context, op string, req adapters.PipelineRequest) (adapters.Trace, error) {
	var none adapters.Trace
	plain, err := json.Marshal(newRequest(req))
	if err != nil {
		return none, fail(op, adapters.KindInvalid, "%w", err)
	}
	body, err := p.request.run(ctx, plain)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return none, p.Failed(ctx, op, &modelapi.Exchange{}, err)
	case err != nil:
		return none, p.Says(op, adapters.KindInvalid, "%v", err)
	}
	start := time.Now()
	answer, err := p.call(ctx, op, http.MethodPost, p.set.URL, body, req.RequestID)
	took := time.Since(start)
	if err != nil {
		return none, err
	}
	mapped, err := p.response.run(ctx, answer)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return none, p.Failed(ctx, op, &modelapi.Exchange{}, ctx.Err())
	case err != nil: // another try would buy another answer, and fail as well
		return none, p.Says(op, adapters.KindInvalid, "the answer cannot be mapped: %v: it was %q", err, p.Short(string(answer)))
	}
	w, err := decodeTrace(mapped)
	var told *toldError
	kind, see := adapters.KindPermanent, "adapt it by backends.service.map.response"
	if p.response != nil {
		kind, see = adapters.KindInvalid, "see backends.service.map.response"
	}
	others, meant := strange(mapped)
	switch {
	case errors.As(err, &told):
		return none, p.Says(op, adapters.KindTransient, "%s", p.Short(told.Error()))
	case err != nil:
		return none, p.Says(op, kind, "the answer is no trace: %v: %s; it was %q", err, see, p.Short(string(mapped)))
	case p.response != nil && len(others) > 0:
		says := "backends.service.map.response gives " + quoted(others) + ", which a trace does not have"
		if meant != "" {
			says += fmt.Sprintf(": did you mean %q?", meant)
		}
		return none, p.Says(op, kind, "%s", p.Short(says))
	case w.RequestID != "" && w.RequestID != req.RequestID:
		return none, p.Says(op, adapters.KindPermanent, "the trace is of request %q, and %q was asked: the service mixes up its requests, or serves an answer from a cache", w.RequestID, req.RequestID)
	case req.Answer && w.Answer == nil:
		return none, p.Says(op, kind, "the trace holds no answer: %s; it was %q", see, p.Short(string(mapped)))
	}
	t := w.trace()
	t.WireTime = took
	if len(others) > 0 {
		t.Notes = append(t.Notes, p.Short("the service's answer has keys that are not read: "+quoted(others)))
	}
	if p.response != nil {
		t.Notes = append(t.Notes, untold(mapped)...)
	}
	if req.Context == nil && foreign(&t) {
		t.Notes = append(t.Notes, "the service packs items that are not among the candidates that it tells: their ids are others, or its trace contradicts itself")
	}
	if w.RequestID == "" {
		t.Notes = append(t.Notes, "the service does not repeat the request id, so that its trace is taken on trust")
	}
	return t, nil
}

// call makes one HTTP call and returns the body of a success, without the keys that were sent.
func (p *pipeline) call(ctx context.Context, op, method, address string, body []byte, id string) ([]byte, error) {
	x := &modelapi.Exchange{Body: body, Limit: answerLimit, Idempotent: id != ""}
	req, err := http.NewRequestWithContext(x.With(ctx), method, address, http.NoBody)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, "%w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Cache-Control", "no-store")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.Key != "" {
		req.Header.Set("Authorization", "Bearer "+p.Key)
	}
	if id != "" {
		req.Header.Set(p.set.RequestHeader, id)
	}
	response, err := p.HTTP.Do(req)
	if err == nil {
		err = response.Body.Close()
	}
	switch trimmed := bytes.TrimSpace(x.Answer); {
	case err != nil || !x.Whole():
		return nil, p.Failed(ctx, op, x, err)
	case x.Status/100 != 2:
		e := p.Failed(ctx, op, x, nil)
		if e.Kind == adapters.KindInvalid {
			e.Err = fmt.Errorf("%w: see backends.service.map.request", e.Err)
		}
		return nil, e
	case json.Valid(trimmed):
	case len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[':
		return nil, p.Failed(ctx, op, x, errors.New("no JSON"))
	default:
		var whole any
		var at *json.SyntaxError
		ended := response.ContentLength >= 0 || len(response.TransferEncoding) > 0 || response.ProtoMajor > 1 // else it ends with the connection
		if err := json.Unmarshal(x.Answer, &whole); !errors.As(err, &at) || !ended && at.Offset >= int64(len(x.Answer)) {
			return nil, p.Failed(ctx, op, x, io.ErrUnexpectedEOF)
		}
		return nil, p.Says(op, adapters.KindPermanent, "what the service answers is no JSON: at byte %d of %d: %v: it was %q", at.Offset, len(x.Answer), at, p.Short(string(x.Answer)))
	}
	said := unescaped(x.Answer)
	kept := p.WithoutKeys(said)
	if kept != said && op == "ask" {
		return nil, adapters.SecretInOutput(Name, op)
	}
	return []byte(kept), nil
}

// unescaped is JSON in which no character is escaped that need not be: a key would not be known in it.
func unescaped(body []byte) string {
	if !bytes.Contains(body, []byte(`\u00`)) {
		return string(body)
	}
	var value any
	var out bytes.Buffer
	decoder, encoder := json.NewDecoder(bytes.NewReader(body)), json.NewEncoder(&out)
	decoder.UseNumber()
	encoder.SetEscapeHTML(false)
	if decoder.Decode(&value) != nil || encoder.Encode(value) != nil {
		return string(body)
	}
	return out.String()
}
