-- A pandoc filter: Markdown without markup that readers do not need. Places of anchors and links
-- are marked by private characters, which `markup.py` takes out again.

local function raw(text) return pandoc.RawInline('gfm', text) end
local function anchor(id) return raw('\u{E000}' .. id .. '\u{E002}') end
local function link(target) return raw('\u{E001}' .. target .. '\u{E002}') end
local function content(element) return element.content end
local function nothing() return {} end

-- Roles of reStructuredText: `:ref:`words <label>`` and `:class:`~module.Name``.
local LABELS = { ref = true, numref = true, ['std:ref'] = true, doc = true, download = true }
local function role(code)
  local words, target = code.text:match('^(.-)%s*<([^<>]+)>$')
  local name = code.attributes.role or ''
  target = target or code.text
  if LABELS[name] then
    -- A label without words stands for a title that is written elsewhere.
    words = words or target:match('[^/]*$'):gsub('[-_]', ' ')
    local label = 'label:' .. target:lower():gsub('[%s_]+', '-')
    return { raw(words), link(name == 'doc' and target .. '.rst' or label) }
  end
  local short = target:match('^~') and target:match('[%w_]+$') or target:gsub('^[~!]', '')
  return { raw('`' .. (words or short) .. '`'), link('symbol:' .. target:gsub('^[~!.]+', '')) }
end

local function code(element)
  if element.classes:includes('interpreted-text') then return role(element) end
  if element.text:find('`') then return element end
  return raw('`' .. element.text .. '`')
end

local function with_anchor(element)
  if element.identifier ~= '' then element.content:insert(1, anchor(element.identifier)) end
  return element.content
end

local inlines = {
  Str = function(element) return raw(element.text) end,
  Math = function(element) return raw(element.text) end,
  Code = code,
  SoftBreak = function() return pandoc.Space() end,
  LineBreak = function() return raw('\n') end,
  Emph = content, Strong = content, Underline = content, Strikeout = content, SmallCaps = content,
  Superscript = content, Subscript = content, Cite = content, Span = with_anchor,
  RawInline = function(element) if element.format ~= 'gfm' then return {} end end,
  Image = function(element) return element.caption end,
  Note = function(element)
    local inside = pandoc.utils.blocks_to_inlines(element.content)
    inside:insert(1, raw(' (')); inside:insert(raw(')'))
    return inside
  end,
  Link = function(element)
    local is_place = not element.target:match('^##SUBST') and not element.target:match('^data:')
    if #element.content > 0 and is_place then element.content:insert(link(element.target)) end
    return with_anchor(element)
  end,
}

-- A documented function, class or setting, which `markup.py` has renamed: its name is a heading.
local function symbol(inside)
  if #inside < 2 then return {} end
  local signature = pandoc.utils.stringify(inside:remove(1))
  local name = signature:gsub('^class ', ''):match('^[%w_.]+') or signature
  inside:insert(1, pandoc.Plain{ raw('`' .. signature .. '`') })
  inside:insert(1, pandoc.Header(5, { raw(name), anchor(name), anchor('symbol:' .. name) }))
  return inside
end

local function div(element)
  local inside, class = element.content, element.classes[1] or ''
  if class == 'hebbgraph-silent' then return {} end
  if class == 'hebbgraph-symbol' then return symbol(inside) end
  local change = class:match('^version(%l+)$') or class:match('^deprecated$')
  if change and inside[1] then
    inside[1].content:insert(1, raw(change:gsub('^%l', string.upper) .. ' in '))
  end
  if element.identifier ~= '' then inside:insert(1, pandoc.Plain{ anchor(element.identifier) }) end
  return inside
end

local function header(element)
  if element.identifier ~= '' then element.content:insert(anchor(element.identifier)) end
  return pandoc.Header(element.level, element.content)
end

-- A definition list becomes a list, each term at the head of what it means.
local function definitions(element)
  local items = pandoc.List{}
  for _, item in ipairs(element.content) do
    local blocks = pandoc.List{ pandoc.Plain(item[1]) }
    for _, definition in ipairs(item[2]) do blocks:extend(definition) end
    items:insert(blocks)
  end
  return pandoc.BulletList(items)
end

-- One line a row, so that a table can be cut between rows and each part keep the header.
local function grid(element)
  local simple = pandoc.utils.to_simple_table(element)
  local function cell(blocks)
    local text = pandoc.utils.blocks_to_inlines(blocks):walk{
      RawInline = function(part) return raw((part.text:gsub('|', '\\|'):gsub('\n', ' '))) end,
    }
    return { pandoc.Plain(text) }
  end
  local rows = pandoc.List{}
  for _, row in ipairs(simple.rows) do rows:insert(pandoc.List(row):map(cell)) end
  simple.headers = pandoc.List(simple.headers):map(cell)
  if #simple.headers == 0 or pandoc.utils.stringify(simple.headers) == '' then
    simple.headers = rows:remove(1) or simple.headers
  end
  simple.rows = rows
  for at = 1, #simple.widths do simple.widths[at] = 0 end
  return pandoc.utils.from_simple_table(simple)
end

local blocks = {
  Div = div, Header = header, DefinitionList = definitions, Table = grid, BlockQuote = content,
  LineBlock = function(element)
    local lines = pandoc.List{}
    for _, line in ipairs(element.content) do lines:extend(line); lines:insert(raw('\n')) end
    return pandoc.Para(lines)
  end,
  RawBlock = nothing, HorizontalRule = nothing,
  Figure = function(element)
    element.content:extend(element.caption.long)
    return element.content
  end,
}

return { blocks, inlines }
