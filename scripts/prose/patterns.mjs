/**
 * Sentences that a comment, a message, a test title and a page must not have, because they have to be read twice. `example`
 * is one, and `instead` says how to write it.
 */
export const patterns = [
  {
    name: 'a comment that begins with a clause instead of a noun',
    example: 'Who waits is served first.',
    in: ['comment'],
    regex: /^(?:What|Who|Whoever|Whether|Of|Those)\b/,
    instead: 'begin with the thing: "True while …", "The znode of …", "Returns …"',
  },
  {
    name: 'whoever',
    example: 'Whoever waits is served.',
    regex: /\bwho(?:so)?ever\b/i,
    instead: 'name it: the client, the waiter, the holder',
  },
  {
    name: 'those whom',
    example: 'It belongs behind those whom it is about.',
    regex: /\b(?:those|all|ones?) whom\b/i,
    instead: 'name them',
  },
  {
    name: 'who without a noun before it',
    example: 'The lock goes to who waits.',
    regex:
      /(?:^|[.,;:(]\s|\b(?:by|of|for|to|and|or|than|but|while|where|if|when|that|from|behind|before|after|is|as)\s)who (?:waits?|holds?|comes?|asks?|has|have|is|are|was|were|else|gets?|needs?|wants?|uses?|shares?|acquires?|releases?|calls?)\b/i,
    instead: 'name it: "a client that waits", "the holder"',
  },
  {
    name: 'what is in it',
    example: 'It reads what is in it.',
    regex: /\bwhat (?:is|was|stands) (?:in|on|behind|before|below) (?:it|them)\b/i,
    instead: 'name the content',
  },
  {
    name: 'for ever',
    example: 'It waits for ever.',
    regex: /\bfor ever\b/i,
    instead: '"forever", "without a limit", "never ends"',
  },
  {
    name: 'of ours',
    example: 'A znode of ours.',
    regex: /\bof (?:ours|theirs|its own kind)\b/i,
    instead: '"our znode", "the znode of this client"',
  },
  {
    name: 'told of',
    example: 'The holder is told of it.',
    regex: /\b(?:is|are|was|were|be|been|being) told of\b/i,
    instead: '"gets an event", "is emitted", "is reported"',
  },
  {
    name: 'has come to',
    example: 'It has come to this.',
    regex: /\b(?:has|have|had) come to (?:this|it|an end)\b/i,
    instead: '"has ended", or say what happened',
  },
  {
    name: 'an inverted order',
    example: 'Never is it granted.',
    regex: /^(?:Never|Nowhere|Only then|Nor) (?:is|are|does|do|has|have|may|can|must)\b/,
    instead: 'subject, verb, object',
  },
  {
    name: 'a private word',
    example: 'The caller is parked.',
    regex:
      /\b(?:patience|parked|turnstile|joiners?|strangers?|theatre|strandings?|stillborn|vacuity|own ?watch|look(?:ed|s)? after|in line)\b/i,
    instead:
      'the field’s term: deadline, waiter, create gate, local waiter, observer, fixture, case, self-watch, granted, queued',
  },
];
