package tap

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// controlPath is where the proxy is asked about itself; no model's server has it.
const controlPath = "/-/culprit/v1/"

// control serves what a [Client] asks:
//
//	PUT    /-/culprit/v1/requests/ID   announce a request; the body is a Substitution, or null
//	GET    /-/culprit/v1/requests/ID   what is known of it
//	DELETE /-/culprit/v1/requests/ID   close it; what is known stays
//
// A page that a browser shows may not ask: it has an Origin, and its Host may be a name of its own making.
func (p *Proxy) control(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutPrefix(r.URL.EscapedPath(), controlPath+"requests/")
	id, err := url.PathUnescape(id)
	switch {
	case r.Header.Get("Origin") != "":
		refuse(w, http.StatusForbidden, "control requests come from no browser")
		return
	case p.options.Key != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+p.options.Key)) != 1:
		refuse(w, http.StatusUnauthorized, "the key of the control endpoints is another")
		return
	case !ok || err != nil || id == "" || len(id) > 256:
		refuse(w, http.StatusNotFound, "there is "+controlPath+"requests/ID, and nothing else")
		return
	}
	switch r.Method {
	case http.MethodPut:
		var s *Substitution
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&s); err != nil {
			refuse(w, http.StatusBadRequest, "the substitution cannot be read: "+err.Error())
			return
		}
		if s != nil && s.Begin == "" && s.End == "" {
			refuse(w, http.StatusBadRequest, "a substitution needs begin or end: what stands before or behind the context in the prompt")
			return
		}
		p.requests.open(id, s)
		known, _ := p.requests.read(id)
		answer(w, http.StatusOK, known)
	case http.MethodGet:
		known, ok := p.requests.read(id)
		if !ok {
			refuse(w, http.StatusNotFound, "no call of this request has come, and it was not announced")
			return
		}
		answer(w, http.StatusOK, known)
	case http.MethodDelete:
		if !p.requests.close(id) {
			refuse(w, http.StatusNotFound, "no such request is known")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusMethodNotAllowed, "use PUT, GET or DELETE")
	}
}
