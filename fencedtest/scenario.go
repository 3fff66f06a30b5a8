package fencedtest

import "slices"

// Scenario restates a public report: what went wrong elsewhere, and what a
// store of this library must make of it. The zero Scenario reports nothing.
type Scenario struct {
	Report string // owner/repository#number
	Right  string // what a failure quotes
	Check
}

// scenario is what the subtests of all of them are under.
const scenario = "Scenario"

// law returns s in the shape of a law.
func (s Scenario) law() Law {
	return Law{Name: scenario, Sentence: s.Report + ": " + s.Right, Checks: []Check{s.Check}}
}

// Scenarios returns the scenarios. Their checks are run as "Scenario/" and
// their name. The slice is the caller's own.
func Scenarios() []Scenario { return slices.Clone(scenarios) }

var scenarios = []Scenario{
	{
		"riverqueue/river#1302", "A supervisor that notes a grant in one step and reclaims it in another leaves alone who came meanwhile.",
		Check{"river-1302", "", river1302},
	},
	{
		"etcd-io/etcd#6127", "A holder that loses its grant is told so at once, and refused if it never looked.",
		Check{"etcd-6127", needsWatcher, etcd6127},
	},
	{
		"etcd-io/etcd#19597", "A waiter whose context has ended returns, and is never served.",
		Check{"etcd-19597", needsWaiter, etcd19597},
	},
	{
		"etcd-io/etcd#10811", "The store refuses a zombie without the help of the zombie's clock.",
		Check{"etcd-10811", "", etcd10811},
	},
	{
		"majiayu000/harness#1878", "A commit after the lease lands if nobody reclaimed; if somebody did, the result is handed back.",
		Check{"harness-1878", "", harness1878},
	},
	{
		"linagora/cozy-stack#4911", "A refused renewal is a loss, and a renewal that failed in transport is not.",
		Check{"cozy-stack-4911", "", cozyStack4911},
	},
	{
		"langchain-ai/langgraph#8796", "Two processes never both write, whatever version the one that was replaced presents.",
		Check{"langgraph-8796", "", langgraph8796},
	},
	{
		"bsm/redislock#93", "A grant without numbers or mark is never taken for no fence wanted.",
		Check{"redislock-93", "", redislock93},
	},
	{
		"rapina-rs/rapina#793", "An expired lease is picked up without a supervisor, and its late holder refused.",
		Check{"rapina-793", "", rapina793},
	},
	{
		"riverqueue/river#682", "A long job that renews is left alone, a dead one is reclaimed, and so is one that renews no more.",
		Check{"river-682", "", river682},
	},
	{
		"aegra/aegra#547", "The hung worker is not taken for the restarted one of the same name (so in xorbitsai/xagent#1230).",
		Check{"aegra-547", "", aegra547},
	},
	{
		"johanhaleby/occurrent#665", "The counter outlives release, deletion and collection.",
		Check{"occurrent-665", "", occurrent665},
	},
	{
		"ohdearquant/khive#2662", "A record deleted and made anew does not match a version read before.",
		Check{"khive-2662", "", khive2662},
	},
	{
		"a-Fig/Accordion#127", "A renewal that a take-over overtakes does not put the old owner back.",
		Check{"accordion-127", "", accordion127},
	},
	{
		"ModernRelay/omnigraph#375", "Ownership is looked at in the step that publishes.",
		Check{"omnigraph-375", "", omnigraph375},
	},
	{
		"Cohexa-ai/agent-coherence#172", "A refusal is not lifted by somebody else's read.",
		Check{"agent-coherence-172", "", agentCoherence172},
	},
	{
		"Cohexa-ai/agent-coherence#166", "One expected version has one winner.",
		Check{"agent-coherence-166", "", agentCoherence166},
	},
	{
		"nats-io/nats-server#4710", "A read hands out value, version and generation of one instant.",
		Check{"nats-server-4710", "", natsServer4710},
	},
	{
		"PostHog/posthog#76169", "A zombie's start-up takes nothing from the rightful owner.",
		Check{"posthog-76169", "", posthog76169},
	},
	{
		"hibiken/asynq#1144", "Owner, generation and lease are set in one step.",
		Check{"asynq-1144", "", asynq1144},
	},
	{
		"apache/curator#1121", "A grant of an earlier life is foreign, though its numbers match.",
		Check{"curator-1121", "", curator1121},
	},
	{
		"redisson/redisson#6510", "However many records come and go, a zombie of any is refused and its numbers never come again.",
		Check{"redisson-6510", "", redisson6510},
	},
	{
		"hashicorp/consul#18271", "Work whose renewals hang is told so.",
		Check{"consul-18271", "", consul18271},
	},
	{
		"Azure/azure-functions-durable-extension#3375", "A refused completion is reported, and the work can be done again.",
		Check{"durable-extension-3375", "", durableExtension3375},
	},
	{
		"graphile/worker#169", "Of those who outlive their lease in turn, exactly the last lands.",
		Check{"graphile-worker-169", "", graphileWorker169},
	},
}
