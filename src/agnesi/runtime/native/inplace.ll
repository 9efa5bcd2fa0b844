; Whether a tensor's memory may be written at once: its array, which has the row's dtype and few
; elements, or null.  No element that was taken out of another tensor, nor read-only memory.
define internal ptr @written_array(ptr %table, ptr %x, i64 %bits, i64 %limit) nounwind {
entry:
  %tensor = call ptr @word_of(ptr %table, i64 {w:Tensor})
  %none = call ptr @api_get(i64 16)
  %type = call ptr @field(ptr %x, i64 8)
  %is.tensor = icmp eq ptr %type, %tensor
  br i1 %is.tensor, label %look, label %no
look:
  %element = call ptr @slot(ptr %table, ptr %x, i64 {w:Tensor._element})
  %unset = icmp eq ptr %element, null
  %empty = icmp eq ptr %element, %none
  %whole = or i1 %unset, %empty
  br i1 %whole, label %memory, label %no
memory:
  %array = call ptr @row_operand(ptr %table, ptr %x, i64 %bits, i64 %limit)
  %unfit = icmp eq ptr %array, null
  br i1 %unfit, label %no, label %flags
flags:
  %flags.at = getelementptr i8, ptr %array, i64 64
  %flags.is = load i32, ptr %flags.at
  %writeable = and i32 %flags.is, 1024        ; NPY_ARRAY_WRITEABLE
  %may = icmp ne i32 %writeable, 0
  br i1 %may, label %yes, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}

; Number a change of a tensor's memory, as `touch` of core/dispatch.py; false with an error set.
define internal i1 @touch(ptr %table, ptr %x) nounwind {
entry:
  %counter = call ptr @counter_of(ptr %table, ptr %x)
  %bad = icmp eq ptr %counter, null
  br i1 %bad, label %no, label %number
number:
  %serials = call ptr @api_get(i64 25)
  %step = call ptr @api_get(i64 24)
  %serial = call ptr %step(ptr %serials)
  %none = icmp eq ptr %serial, null
  br i1 %none, label %no, label %store
store:
  %items = call ptr @field(ptr %counter, i64 24)
  %old = load ptr, ptr %items
  store ptr %serial, ptr %items
  call void @decref(ptr %old)
  ret i1 true
no:
  ret i1 false
}

; Whether tensors change in place as they stand, and nothing has to be told: 1, 0, or -1 for an error;
; what says whether operations are recorded goes to %recording.
define internal i32 @changes_at_once(ptr %table, ptr %recording) nounwind {
entry:
  %found = alloca ptr
  %zero = call ptr @word_of(ptr %table, i64 {w:zero})
  %traces = call ptr @word_of(ptr %table, i64 {w:TRACES})
  %running = call ptr @slot(ptr %table, ptr %traces, i64 {w:Count.running})
  %idle = icmp eq ptr %running, %zero
  br i1 %idle, label %ask, label %no
ask:
  %variable = call ptr @word_of(ptr %table, i64 {w:MODE})
  %get = call ptr @word_of(ptr %table, i64 {w:PyContextVar_Get})
  %failed = call i32 %get(ptr %variable, ptr null, ptr %found)
  %bad = icmp slt i32 %failed, 0
  br i1 %bad, label %error, label %look
look:
  %none = call ptr @api_get(i64 16)
  %false = call ptr @api_get(i64 14)
  %mode = load ptr, ptr %found
  %records = call ptr @slot(ptr %table, ptr %mode, i64 {w:Mode.recording})
  %watch = call ptr @slot(ptr %table, ptr %mode, i64 {w:Mode.watch})
  %examples = call ptr @slot(ptr %table, ptr %mode, i64 {w:Mode.examples})
  %fixed = call ptr @slot(ptr %table, ptr %mode, i64 {w:Mode.fixed})
  call void @decref(ptr %mode)
  store ptr %records, ptr %recording
  %unwatched = icmp eq ptr %watch, %none
  %single = icmp eq ptr %examples, %none
  %changing = icmp eq ptr %fixed, %false
  %and1 = and i1 %unwatched, %single
  %and2 = and i1 %and1, %changing
  br i1 %and2, label %yes, label %no
yes:
  ret i32 1
no:
  ret i32 0
error:
  ret i32 -1
}

; `written(row, x, *operands)` of api/tensor/inplace.py: a function of NumPy's whose result goes into the
; memory of its first operand; a row without one copies the second operand there.
define ptr @written(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %arrays = alloca [4 x ptr]
  %recording.at = alloca ptr
  %table = call ptr @field(ptr %self, i64 16)
  %tensor = call ptr @word_of(ptr %table, i64 {w:Tensor})
  %true = call ptr @api_get(i64 13)
  %none = call ptr @api_get(i64 16)
  %row = load ptr, ptr %args
  %function = call ptr @item(ptr %row, i64 1)
  %bits.object = call ptr @item(ptr %row, i64 2)
  %limit.object = call ptr @item(ptr %row, i64 3)
  %as.long = call ptr @api_get(i64 10)
  %bits = call i64 %as.long(ptr %bits.object)
  %limit = call i64 %as.long(ptr %limit.object)
  %operands = getelementptr ptr, ptr %args, i64 1
  %n = sub i64 %nargs, 1
  %n1 = sub i64 %n, 1
  %few = icmp ult i64 %n1, 3
  br i1 %few, label %may, label %slow
may:
  %x = load ptr, ptr %operands
  %at.once = call i32 @changes_at_once(ptr %table, ptr %recording.at)
  switch i32 %at.once, label %error [ i32 0, label %slow
                                      i32 1, label %target ]
target:
  %recording = load ptr, ptr %recording.at
  %records = icmp eq ptr %recording, %true
  %array = call ptr @written_array(ptr %table, ptr %x, i64 %bits, i64 %limit)
  %descr.at = getelementptr i8, ptr %array, i64 56
  %unfit = icmp eq ptr %array, null
  br i1 %unfit, label %slow, label %test
test:
  %i = phi i64 [0, %target], [%i1, %next]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %hold.test
one:
  %given.at = getelementptr ptr, ptr %operands, i64 %i
  %given = load ptr, ptr %given.at
  %given.type = call ptr @field(ptr %given, i64 8)
  %is.tensor = icmp eq ptr %given.type, %tensor
  br i1 %is.tensor, label %operand, label %number
number:
  %constant = call ptr @constant_beside(ptr %table, ptr %given, ptr %x)
  %no.constant = icmp eq ptr %constant, null
  br i1 %no.constant, label %unknown, label %operand
operand:
  %b = phi ptr [%given, %one], [%constant, %number]
  %b.array = call ptr @row_operand(ptr %table, ptr %b, i64 %bits, i64 %limit)
  %b.at = getelementptr ptr, ptr %arrays, i64 %i
  store ptr %b.array, ptr %b.at
  %b.unfit = icmp eq ptr %b.array, null
  br i1 %b.unfit, label %slow, label %next
next:
  %descr = load ptr, ptr %descr.at
  %b.descr = call ptr @field(ptr %b.array, i64 56)
  %alike = icmp eq ptr %descr, %b.descr
  %b.flag = call ptr @slot(ptr %table, ptr %b, i64 {w:Tensor._requires_grad})
  %b.wants = icmp eq ptr %b.flag, %true
  %b.recorded = and i1 %records, %b.wants
  %b.silent = xor i1 %b.recorded, true
  %b.fits = and i1 %alike, %b.silent
  br i1 %b.fits, label %test, label %slow
hold.test:
  %h = phi i64 [0, %test], [%h1, %hold]
  %h1 = add i64 %h, 1
  %h.more = icmp ult i64 %h, %n
  br i1 %h.more, label %hold, label %held
hold:
  %held.at = getelementptr ptr, ptr %arrays, i64 %h
  %held.is = load ptr, ptr %held.at
  call void @incref(ptr %held.is)
  br label %hold.test
held:
  %copies = icmp eq ptr %function, %none
  br i1 %copies, label %copy, label %enter
copy:                                         ; of two
  %source.at = getelementptr ptr, ptr %arrays, i64 1
  %source = load ptr, ptr %source.at
  %copy.into = call ptr @word_of(ptr %table, i64 {w:PyArray_CopyInto})
  %uncopied = call i32 %copy.into(ptr %array, ptr %source)
  %copied = icmp eq i32 %uncopied, 0
  br i1 %copied, label %number.it, label %drop
enter:
  %out.at = getelementptr ptr, ptr %arrays, i64 %n
  store ptr %array, ptr %out.at
  %context = call ptr @word_of(ptr %table, i64 {w:silent})
  %enter.it = call ptr @word_of(ptr %table, i64 {w:PyContext_Enter})
  %refused = call i32 %enter.it(ptr %context)
  %busy = icmp ne i32 %refused, 0
  br i1 %busy, label %drop, label %run
run:
  %call = call ptr @api_get(i64 22)
  %out.name = call ptr @word_of(ptr %table, i64 {w:out})
  %data = call ptr %call(ptr %function, ptr %arrays, i64 %n, ptr %out.name)
  %leave.it = call ptr @word_of(ptr %table, i64 {w:PyContext_Exit})
  %left.it = call i32 %leave.it(ptr %context)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %drop, label %computed
computed:
  call void @decref(ptr %data)
  br label %number.it
number.it:
  %numbered = call i1 @touch(ptr %table, ptr %x)
  br label %drop
drop:
  %written = phi i1 [false, %copy], [false, %enter], [false, %run], [true, %number.it]
  %whole = phi i1 [true, %copy], [true, %enter], [true, %run], [%numbered, %number.it]
  br label %drop.test
drop.test:
  %j = phi i64 [0, %drop], [%j1, %drop.one]
  %j1 = add i64 %j, 1
  %left.over = icmp ult i64 %j, %n
  br i1 %left.over, label %drop.one, label %dropped
drop.one:
  %gone.at = getelementptr ptr, ptr %arrays, i64 %j
  %gone = load ptr, ptr %gone.at
  call void @decref(ptr %gone)
  br label %drop.test
dropped:
  br i1 %whole, label %ended, label %error
ended:
  br i1 %written, label %done, label %failure
done:
  call void @incref(ptr %x)
  ret ptr %x
unknown:                                      ; perhaps an error of the number's hash
  %occurred = call ptr @api_get(i64 11)
  %set = call ptr %occurred()
  %fine = icmp eq ptr %set, null
  br i1 %fine, label %slow, label %error
failure:                                      ; Python tells what there is to tell
  %matches = call ptr @word_of(ptr %table, i64 {w:PyErr_ExceptionMatches})
  %ordinary = call ptr @word_of(ptr %table, i64 {w:Exception})
  %is.ordinary = call i32 %matches(ptr %ordinary)
  %told = icmp ne i32 %is.ordinary, 0
  br i1 %told, label %forget, label %error
forget:
  %clear = call ptr @api_get(i64 12)
  call void %clear()
  br label %slow
slow:
  %slow.call = call ptr @api_get(i64 22)
  %handler = call ptr @word_of(ptr %table, i64 {w:written})
  %slow.answer = call ptr %slow.call(ptr %handler, ptr %args, i64 %nargs, ptr null)
  ret ptr %slow.answer
error:
  ret ptr null
}
