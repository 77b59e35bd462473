package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

// openAPI is GET /openapi.json.
func (a *private) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(a.document) // the peer may be gone: nothing to do about it
}

// openAPIDocument describes the operations (OpenAPI 3.1). It is made from the
// list that the router is made from, and from the types that are sent, so it
// cannot say something else.
func openAPIDocument(version string) ([]byte, error) {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	// A moment is a struct inside and a text or null outside.
	registry.RegisterTypeAlias(reflect.TypeFor[order.Moment](), reflect.TypeFor[momentText]())
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "notifyd", Version: version},
		Paths:   map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas: registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer":    {Type: "http", Scheme: "bearer"},
				"apiKey":    {Type: "apiKey", In: "header", Name: idempotency.HeaderAPIKey, Description: "The id of the key that signed"},
				"timestamp": {Type: "apiKey", In: "header", Name: idempotency.HeaderTimestamp, Description: "Unix seconds, ten digits, at most 300 s off"},
				"signature": {Type: "apiKey", In: "header", Name: idempotency.HeaderSignature,
					Description: "Lower-case hex of HMAC-SHA256 under the key's secret over five lines joined by LF: method, request URI, timestamp, idempotency key (empty when there is none), lower-case hex of SHA-256 of the body"},
			},
		},
		Security: []map[string][]string{{"bearer": {}}},
	}
	var sent []string // the names of the bodies that are sent to us
	for _, op := range slices.Concat((*private)(nil).operations(), merchantOperations()) {
		if op.body != nil {
			sent = append(sent, schemaName(reflect.TypeOf(op.body), ""))
		}
		item := doc.Paths[op.path]
		if item == nil {
			item = &huma.PathItem{}
			doc.Paths[op.path] = item
		}
		described := describe(op, registry)
		if op.method == http.MethodGet {
			item.Get = described
		} else {
			item.Post = described
		}
	}
	for name, schema := range registry.Map() {
		tighten(schema, slices.Contains(sent, name))
	}
	return json.Marshal(doc)
}

// schemaName is the name of a type in the document: order.View is Order there.
func schemaName(t reflect.Type, hint string) string {
	name := strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "View")
	if name == "" || name == "Page" {
		name += "Order"
	}
	return name
}

// tighten says what holds everywhere: lists are never null, and answers may gain
// fields while bodies that are sent to us may not have others.
func tighten(schema *huma.Schema, sent bool) {
	if !sent {
		schema.AdditionalProperties = nil
	}
	for _, property := range schema.Properties {
		if property.Type == huma.TypeArray {
			property.Nullable = false
		}
	}
}

// momentText is how a moment appears: RFC 3339 in +08:00, or null.
type momentText struct{}

// Schema is asked by the registry.
func (momentText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true}
}

func describe(op operation, registry huma.Registry) *huma.Operation {
	out := &huma.Operation{OperationID: op.id, Summary: op.summary, Responses: map[string]*huma.Response{},
		Parameters: parameters(op)}
	for _, a := range op.answers {
		status := strconv.Itoa(a.status)
		if out.Responses[status] == nil {
			out.Responses[status] = &huma.Response{Description: http.StatusText(a.status), Content: map[string]*huma.MediaType{}}
		}
		media := out.Responses[status].Content[a.kind]
		if media == nil {
			media = &huma.MediaType{}
			out.Responses[status].Content[a.kind] = media
		}
		if a.body != nil {
			media.Schema = either(media.Schema, registry.Schema(reflect.TypeOf(a.body), true, op.id))
		}
	}
	if strings.HasPrefix(op.path, merchantPrefix) {
		out.Security = []map[string][]string{{"apiKey": {}, "timestamp": {}, "signature": {}}}
	}
	out.Responses["default"] = &huma.Response{
		Description: "A problem (RFC 9457). Codes beyond the general ones: " + strings.Join(op.codes(), ", "),
		Content: map[string]*huma.MediaType{"application/problem+json": {
			Schema: registry.Schema(reflect.TypeFor[Problem](), true, "Problem")}},
	}
	if op.body != nil {
		_, optional := op.body.(nothing)
		out.RequestBody = &huma.RequestBody{Required: !optional, Content: map[string]*huma.MediaType{
			jsonType: {Schema: registry.Schema(reflect.TypeOf(op.body), true, op.id)}}}
	}
	return out
}

// either is a schema for what fits one of two.
func either(one, other *huma.Schema) *huma.Schema {
	if one == nil {
		return other
	}
	return &huma.Schema{OneOf: []*huma.Schema{one, other}}
}

// codes are those of an operation's problems, beyond the general ones.
func (op operation) codes() []string {
	if op.effect == nil {
		return op.problems
	}
	return slices.Concat(op.problems, []string{problemKeyMissing.Code, problemKeyInvalid.Code, problemKeyAmbiguous.Code,
		problemInProgress.Code, problemReused.Code, problemLockLost.Code})
}

// parameters lists those of the path, of the header and of the query.
func parameters(op operation) []*huma.Param {
	var out []*huma.Param
	for part := range strings.SplitSeq(op.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out = append(out, &huma.Param{Name: strings.TrimSuffix(name, "}"), In: "path", Required: true,
				Schema: &huma.Schema{Type: huma.TypeString}})
		}
	}
	if op.effect != nil {
		least, most := 1, idempotency.MaxKeyBytes
		out = append(out, &huma.Param{Name: idempotency.HeaderKey, In: "header", Required: true,
			Description: "Visible ASCII; new for everything that shall happen once more, the same when a request is sent again",
			Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most}})
	}
	for _, p := range op.query {
		schema := &huma.Schema{Type: huma.TypeString, Format: p.format}
		if p.name == limitParameter.name {
			lowest, highest := 1.0, float64(pageMax)
			schema = &huma.Schema{Type: huma.TypeInteger, Minimum: &lowest, Maximum: &highest, Default: pageDefault}
		}
		for _, v := range p.values {
			schema.Enum = append(schema.Enum, v)
		}
		out = append(out, &huma.Param{Name: p.name, In: "query", Description: p.about, Schema: schema})
	}
	return out
}
