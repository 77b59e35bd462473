package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

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
		Info:    &huma.Info{Title: "notifyd admin API", Version: version},
		Paths:   map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas:         registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}},
		},
		Security: []map[string][]string{{"bearer": {}}},
	}
	for _, op := range (*private)(nil).operations() {
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
		tighten(name, schema)
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
func tighten(name string, schema *huma.Schema) {
	if name != schemaName(reflect.TypeFor[registration](), "") && name != schemaName(reflect.TypeFor[nothing](), "") {
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
		media := &huma.MediaType{}
		if a.body != nil {
			media.Schema = registry.Schema(reflect.TypeOf(a.body), true, op.id)
		}
		out.Responses[strconv.Itoa(a.status)] = &huma.Response{Description: http.StatusText(a.status),
			Content: map[string]*huma.MediaType{a.kind: media}}
	}
	out.Responses["default"] = &huma.Response{
		Description: "A problem (RFC 9457). Codes beyond the general ones: " + strings.Join(op.problems, ", "),
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

// parameters lists those of the path and of the query.
func parameters(op operation) []*huma.Param {
	var out []*huma.Param
	for part := range strings.SplitSeq(op.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out = append(out, &huma.Param{Name: strings.TrimSuffix(name, "}"), In: "path", Required: true,
				Schema: &huma.Schema{Type: huma.TypeString}})
		}
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
