package provider

import "context"

// Examiner is a Provider that can say why it refused: step by step, and with the
// known mistake that a refusal looks like. It is asked by people, after the
// fact; the way of a notification does not use it.
//
// An examination decides nothing. The verdict is Parse's alone.
type Examiner interface {
	// Examine looks at a request that Parse has judged. It reads no clock and
	// does no I/O. Nothing that it returns holds a key or a secret, and personal
	// fields are masked. When the context ends, it looks no further.
	Examine(context.Context, Exhibit) Examination
}

// Exhibit is a request and what may explain it.
type Exhibit struct {
	Request Request
	Err     error      // what Parse said of it; nil when it was verified
	Others  []Provider // the other accounts of the same configuration, of any provider
	Tries   [][]byte   // key files that are in no configuration: do they explain it?
}

// Examination is what an adapter finds out about a request.
type Examination struct {
	Protocol string  // "WeChat Pay v3"
	Steps    []Step  // in the order in which Parse takes them
	Signed   *Signed // nil: there is no text to verify
	Cause    Cause   // of a refusal; empty for a verified request
}

// Step is one step of the proof, in a sentence for people.
type Step struct {
	Name  StepName
	State StepState
	Text  string
}

// StepName names a step; the list is closed.
type StepName string

// The steps. Request and Order are the caller's: they are the same for every
// provider.
const (
	StepRequest    StepName = "request"    // is it a request that the edge takes?
	StepProtocol   StepName = "protocol"   // which one, and can it be read?
	StepTime       StepName = "time"       // when it was signed and received
	StepKey        StepName = "key"        // which key it names, and which are loaded
	StepText       StepName = "text"       // what is signed
	StepSignature  StepName = "signature"  // does it hold?
	StepDecryption StepName = "decryption" // does the content open?
	StepBinding    StepName = "binding"    // is it this account's?
	StepFact       StepName = "fact"       // what it says
	StepOrder      StepName = "order"      // what the order would do
)

// StepState is how a step ended.
type StepState string

// The states of a step.
const (
	StepOK      StepState = "ok"
	StepFailed  StepState = "failed"
	StepNote    StepState = "note"    // neither good nor bad, or not part of this protocol
	StepSkipped StepState = "skipped" // not reached
)

// Signed is the text over which the signature is, as far as it may be shown.
type Signed struct {
	Bytes  int
	SHA256 string // hex; of the text as it is, without a shared key that belongs to it
	Text   string // personal fields masked, the key left out
}

// Cause is why a request was refused: the code of Parse, or a finer one of the
// same closed list where Parse has one symptom for several causes.
type Cause struct {
	Code   string
	Detail string // what was found in this request; "" when the code says it all
}

// Explanation is what people are told about a code of the closed list.
type Explanation struct {
	Code  string
	Means Bilingual // what happened
	Fix   Bilingual // what to do about it
	Finer bool      // not a code of Parse: only an examination finds it
}

// Bilingual is a text in the two languages of the documentation.
type Bilingual struct {
	English string `json:"en"`
	Chinese string `json:"zh"`
}
