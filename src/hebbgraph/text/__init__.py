"""Text to tokens, terms and tag candidates, without a model.

Data flows through the folder in this order:

==================== ================================================================
``characters``       Unicode: folding, and scripts written without spaces
``tokens``           text to tokens, tokens to terms, a phrase to its key; word lists
``compounds``        numbers, units and names in code: as wholes and by their parts
``syllables``        Vietnamese, which puts spaces between syllables
``query``            a question to the terms of word search
``shapes``           a text to its shape: one character per word
``names``            names and codes, read off the shape
``salience``         salient terms, where capitals do not mark names
``candidates``       the phrases that one chunk proposes as tags, from all of the above
``references``       addresses and references as keys
``context``          one chunk to tokens and words; its metadata's words, searched with the text
``matching``         known phrases in tokens
``blocks``           a text to its blocks, and these to pieces, for the splitter
==================== ================================================================
"""
