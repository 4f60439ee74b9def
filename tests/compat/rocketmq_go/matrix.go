package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// write sends what every client of the matrix writes.
func write(nameServer, topic, name string, count int, text string) {
	trial := &Trial{nameServer: nameServer, topic: topic, group: topic, facts: Facts{}}
	from := trial.producer()
	for at := 0; at < count; at++ {
		message := trial.message(fmt.Sprintf("tag%d", at%3), fmt.Sprintf("key%d second", at%4),
			fmt.Sprintf("%s %d %s", name, at, text))
		message.WithProperty("number", fmt.Sprint(at))
		message.WithProperty("odd", text)
		if at%2 == 0 {
			// WithShardingKey would write SHARDING_KEY, which only this client reads.
			message.WithProperty("__SHARDINGKEY", "shard")
		}
		trial.send(from, message)
	}
	trial.send(from, primitive.NewMessage(topic, []byte("plain")).WithKeys([]string{"only-key"}))
}

// read prints what is in the topics, one line for each message.
func read(nameServer, group string, count int, topics []string) {
	for at, topic := range topics {
		trial := &Trial{nameServer: nameServer, topic: topic, facts: Facts{}}
		var seen atomic.Int64
		trial.consumer(fmt.Sprintf("%s%d", group, at), "-reader", everything,
			func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
				for _, each := range messages {
					facts := factsOf(each)
					emit(Facts{
						"topic": topic, "body": facts["body"], "tags": facts["tags"], "keys": facts["keys"],
						"properties": facts["properties"], "timestamp": facts["born"],
						"partition": facts["queue"], "offset": facts["offset"],
					})
					seen.Add(1)
				}
				return consumer.ConsumeSuccess, nil
			}, consumer.WithConsumeGoroutineNums(1))
		wait(topic, func() bool { return seen.Load() >= int64(count) })
	}
}
