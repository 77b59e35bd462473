package httpapi

import "github.com/notifyd/notifyd/internal/order"

// deliveryOperations are the calls about events, deliveries and endpoints.
func deliveryOperations() []operation {
	const events, oneEvent = "/admin/v1/events", "/admin/v1/events/{id}"
	const deliveries, oneEndpoint = "/admin/v1/deliveries", "/admin/v1/endpoints/{name}"
	bodyProblems := []string{"not_json", "invalid_field", "cross_origin"}
	endpointProblems := append([]string{"endpoint_unknown"}, bodyProblems...)
	again := []answer{{200, jsonType, Resent{}}}
	endpoint := []answer{{200, jsonType, EndpointView{}}}
	return []operation{
		{method: "GET", path: events, id: "listAllEvents", summary: "List events, newest first",
			query: eventFilters, answers: []answer{{200, jsonType, page[order.EventView]{}}}, problems: []string{"merchant_unknown"}, run: (*private).listAllEvents},
		{method: "GET", path: oneEvent, id: "getEvent", summary: "Show an event with its deliveries and their attempts",
			answers: []answer{{200, jsonType, EventStory{}}}, problems: []string{"event_unknown"}, run: (*private).getEvent},
		{method: "POST", path: oneEvent + "/redeliver", id: "redeliverEvent", summary: "Deliver an event again, from the beginning of the schedule",
			query: []parameter{endpointParameter}, body: nothing{}, answers: again,
			problems: append([]string{"event_unknown", "no_deliveries"}, endpointProblems...), run: (*private).redeliverEvent},
		{method: "GET", path: deliveries, id: "listDeliveries", summary: "List deliveries, newest event first",
			query: deliveryFilters, answers: []answer{{200, jsonType, page[DeliveryView]{}}}, problems: []string{"merchant_unknown"}, run: (*private).listDeliveries},
		{method: "POST", path: deliveries + "/redeliver", id: "redeliver", summary: "Deliver again what a filter selects, oldest event first; without a filter, all that is exhausted",
			body: resendFilter{}, answers: again, problems: append([]string{"merchant_unknown"}, bodyProblems...), run: (*private).redeliver},
		{method: "GET", path: "/admin/v1/endpoints", id: "listEndpoints", summary: "List endpoints, what waits at them, and how they are doing",
			answers: []answer{{200, jsonType, page[EndpointView]{}}}, run: (*private).listEndpoints},
		{method: "POST", path: oneEndpoint + "/pause", id: "pauseEndpoint", summary: "Send nothing to an endpoint until it is resumed",
			body: pauseReason{}, answers: endpoint, problems: endpointProblems, run: (*private).pauseEndpoint},
		{method: "POST", path: oneEndpoint + "/resume", id: "resumeEndpoint", summary: "End a pause, and forget that the endpoint failed",
			body: nothing{}, answers: endpoint, problems: endpointProblems, run: (*private).resumeEndpoint},
		{method: "POST", path: oneEndpoint + "/test", id: "testEndpoint", summary: "Post a signed test event to an endpoint and show what it answers",
			body: nothing{}, answers: []answer{{200, jsonType, AttemptView{}}}, problems: endpointProblems, run: (*private).testEndpoint},
	}
}
