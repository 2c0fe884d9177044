package jjm

// Proof is the kind of proof that the work of a grid job was done exactly once. "" means that there is no proof.
type Proof string

// The kinds of proofs, from the strongest to the weakest. A proof of several kinds is as strong as its weakest part.
const (
	// ProofCount: every local job reports how much it processed, and that equals what it owned.
	ProofCount Proof = "count"
	// ProofExit: the rows are commands that count nothing, and each ended with exit code 0.
	ProofExit Proof = "exit"
	// ProofType: for some rows the job type says that their commands succeeded with another exit code.
	ProofType Proof = "type"
)

// Text returns the proof in words for people.
func (p Proof) Text() string {
	switch p {
	case ProofCount:
		return "every local job counted what it processed"
	case ProofExit:
		return "each row's command ended with exit code 0"
	case ProofType:
		return "each row's command ended well, of some by the word of the job type"
	}
	return string(p) // the word of a newer daemon
}

// Weaker returns the weaker of two proofs.
func (p Proof) Weaker(q Proof) Proof {
	for _, weakest := range [...]Proof{"", ProofType, ProofExit} {
		if p == weakest || q == weakest {
			return weakest
		}
	}
	return p
}
