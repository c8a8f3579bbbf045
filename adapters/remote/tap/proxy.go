package tap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// Options are the settings of a Proxy.
type Options struct {
	Upstream *url.URL // of the model's server; its path is ignored, for a service asks for the same paths as without the proxy
	Header   string   // that holds the request id; "": X-Request-ID
	Key      string   // that the control endpoints ask for as a bearer token; "": none
	Secrets  []string // that are kept nowhere, beside those that a call carries
	Now      func() time.Time
	// Told, where not nil, is called for every call when its answer has ended, with the id of its request ("" for none), on the
	// goroutine that serves it. The call must not be changed.
	Told      func(id string, c *Call)
	Transport http.RoundTripper // nil: one of its own
}

// Proxy passes calls on to the model's server and keeps what they said.
type Proxy struct {
	options  Options
	requests requests
	forward  *httputil.ReverseProxy
	own      *http.Transport // that Close ends
}

// DefaultHeader is the header that holds a request id where no other is named.
const DefaultHeader = "X-Request-ID"

// New returns a proxy. It makes no call.
func New(o Options) (*Proxy, error) {
	if o.Upstream == nil || o.Upstream.Host == "" || (o.Upstream.Scheme != "http" && o.Upstream.Scheme != "https") {
		return nil, errors.New("the upstream is no http or https URL: give the model's server as the service knows it, such as https://api.example.com/v1")
	}
	if o.Header == "" {
		o.Header = DefaultHeader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Proxy{options: o, requests: requests{byID: map[string]*entry{}}}
	if o.Transport == nil {
		p.own = http.DefaultTransport.(*http.Transport).Clone()
		p.own.DisableCompression = true // else it would ask for gzip where the service did not, and unpack it
		p.own.MaxIdleConnsPerHost = 256
		p.options.Transport = p.own
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = o.Upstream.Scheme, o.Upstream.Host, ""
			r.Out.URL.RawQuery = r.In.URL.RawQuery // also where it is none that can be parsed
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values, ok := r.In.Header[name]; ok { // the service's own word, which a proxy of this kind would replace
					r.Out.Header[name] = values
				}
			}
		},
		Transport: p.options.Transport, FlushInterval: -1, ModifyResponse: p.answered, ErrorHandler: p.failed,
	}
	return p, nil
}

// Close gives up idle connections. It may be called twice.
func (p *Proxy) Close() error {
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
	return nil
}

// underway is a call between its request and the end of its answer.
type underway struct {
	id     string
	call   *Call
	redact *adapters.Redactor
	start  time.Time
}

type underwayKey struct{}

// ServeHTTP answers control requests itself and passes everything else on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Host != "" || r.Method == http.MethodConnect:
		refuse(w, http.StatusBadRequest, "this is no forward proxy: set it as the base URL of the service's model")
	case strings.HasPrefix(r.URL.Path, controlPath):
		p.control(w, r)
	default:
		p.pass(w, r)
	}
}

// pass records what a call says and sends it on.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	u := &underway{redact: credentials(r, p.options.Secrets), start: p.options.Now()}
	if r.Method == http.MethodPost {
		var head []byte
		if r.ContentLength <= maxBody {
			var err error
			if head, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1)); err != nil {
				refuse(w, http.StatusBadRequest, "the body of the call broke off: "+err.Error())
				return
			}
		}
		body, err := p.read(r, head, u)
		if err != nil {
			refuse(w, http.StatusConflict, err.Error())
			return
		}
		if r.ContentLength <= maxBody && len(head) <= maxBody {
			r.ContentLength = int64(len(body)) // as it was, unless a context was substituted
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), underwayKey{}, u)))
}

// read records the prompt of a body and returns what is to be sent. An error means that nothing may be sent.
func (p *Proxy) read(r *http.Request, body []byte, u *underway) ([]byte, error) {
	plain, err := unpacked(r, body)
	var said *prompt
	if err == nil {
		said, err = readPrompt(plain)
		if err != nil && strings.Contains(r.Header.Get("Content-Type"), "json") {
			err = fmt.Errorf("it is no JSON: %w", err)
		} else {
			err = nil
		}
	}
	switch header := r.Header.Get(p.options.Header); {
	case err != nil && p.requests.mayChange(header):
		return nil, p.unread(r, err, u)
	case err != nil || said == nil:
		return body, nil // not for a model, or for it to complain of
	}
	id, bound, substitution := p.requests.bind(r.Header.Get(p.options.Header), said.id)
	u.id = id
	u.call = &Call{Path: r.URL.Path, Bound: bound, At: u.start.UTC().Format(time.RFC3339Nano), Model: said.model, Params: said.params}
	var refused error
	if substitution != nil {
		changed, replaced, err := substitution.apply(plain, said)
		switch {
		case err == nil:
			r.Header.Del("Content-Encoding")
			body, u.call.Substituted, u.call.Context = changed, true, &replaced
		case !errors.Is(err, errNoPlace):
			refused = fmt.Errorf("request %q: %w", id, err)
			u.call.Refused = err.Error()
		}
	}
	u.call.Messages = said.messages
	u.call.withoutAsked(u.redact)
	p.requests.record(id, u.call)
	if refused != nil {
		p.finish(u, func(*Call) {})
	}
	return body, refused
}

// unread keeps and returns why a call is not sent in which a context is to be substituted, and that cannot be read.
func (p *Proxy) unread(r *http.Request, why error, u *underway) error {
	id, bound, _ := p.requests.bind(r.Header.Get(p.options.Header), "")
	why = fmt.Errorf("a context is to be substituted, and the body of the call cannot be read: %w", why)
	u.id, u.call = id, &Call{Path: r.URL.Path, Bound: bound, At: u.start.UTC().Format(time.RFC3339Nano), Messages: []Message{}, Refused: why.Error()}
	u.call.withoutAsked(u.redact)
	p.requests.record(id, u.call)
	p.finish(u, func(*Call) {})
	return why
}

// unpacked returns the body of a call without its encoding. What was sent without one is returned as it is.
func unpacked(r *http.Request, body []byte) (plain []byte, err error) {
	switch encoding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ", ")); encoding {
	case "", "identity":
		plain = body
	case "gzip", "x-gzip":
		if len(body) <= maxBody {
			if plain, err = gunzip(body); err != nil {
				return nil, fmt.Errorf("it is not the gzip that its Content-Encoding says: %w", err)
			}
		}
	default:
		return nil, fmt.Errorf("it came in the encoding %q: send it without one, or as gzip", encoding)
	}
	if r.ContentLength > maxBody || len(body) > maxBody || len(plain) > maxBody {
		return nil, fmt.Errorf("it is longer than %d MiB", maxBody>>20)
	}
	return plain, nil
}

func (p *Proxy) finish(u *underway, fill func(*Call)) {
	p.requests.finish(u.id, u.call, func(c *Call) {
		fill(c)
		c.TookMS = p.options.Now().Sub(u.start).Milliseconds()
		c.withoutAnswered(u.redact)
	})
	if p.options.Told != nil {
		p.options.Told(u.id, u.call)
	}
}

// answered lets the answer be copied while it is passed on.
func (p *Proxy) answered(r *http.Response) error {
	u, _ := r.Request.Context().Value(underwayKey{}).(*underway)
	if u == nil || u.call == nil {
		return nil
	}
	r.Body = &copied{ReadCloser: r.Body, ended: func(body []byte, err error) {
		p.finish(u, func(c *Call) {
			c.Status = r.StatusCode
			readAnswer(c, body, r.Header.Get("Content-Encoding"), r.Header.Get("Content-Type"))
			if err != nil {
				c.Error = "the answer broke off: " + err.Error()
			}
		})
	}}
	return nil
}

// failed answers for a server that could not be reached.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	u, _ := r.Context().Value(underwayKey{}).(*underway)
	text := err.Error()
	if u != nil {
		text = u.redact.String(text)
		if u.call != nil {
			p.finish(u, func(c *Call) { c.Error = text })
		}
	}
	refuse(w, http.StatusBadGateway, "the model's server "+p.options.Upstream.Host+" could not be reached: "+text)
}

// refuse answers as an OpenAI-compatible server does, so that a service shows what is wrong.
func refuse(w http.ResponseWriter, status int, says string) {
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	answer(w, status, map[string]body{"error": {Message: "culprit tap: " + says, Type: "culprit_tap", Code: strconv.Itoa(status)}})
}

func answer(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "culprit tap: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // who asked may be gone
}

// credentials knows what the headers of a call carry as one, so that it is kept nowhere.
func credentials(r *http.Request, secrets []string) *adapters.Redactor {
	secrets = slices.Clone(secrets)
	for name, values := range r.Header {
		if !adapters.CarriesKey(name) {
			continue
		}
		for _, v := range values {
			secrets = append(secrets, v)
			if _, bare, ok := strings.Cut(v, " "); ok {
				secrets = append(secrets, bare)
			}
		}
	}
	if _, password, ok := r.BasicAuth(); ok {
		secrets = append(secrets, password)
	}
	for _, cookie := range r.Cookies() {
		secrets = append(secrets, cookie.Value)
	}
	for name, values := range r.URL.Query() {
		if adapters.CarriesKey(name) {
			secrets = append(secrets, values...)
		}
	}
	return adapters.NewRedactor(secrets...)
}

// copied keeps what is read of a body, to a limit, and tells once how it ended.
type copied struct {
	io.ReadCloser
	kept  []byte
	told  bool
	ended func(body []byte, err error)
}

func (c *copied) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.kept = append(c.kept, b[:min(n, maxBody-len(c.kept))]...)
	switch {
	case errors.Is(err, io.EOF):
		c.end(nil)
	case err != nil:
		c.end(err)
	}
	return n, err
}

func (c *copied) Close() error {
	c.end(errors.New("it was not read to its end"))
	return c.ReadCloser.Close()
}

func (c *copied) end(err error) {
	if !c.told {
		c.told = true
		c.ended(c.kept, err)
	}
}
